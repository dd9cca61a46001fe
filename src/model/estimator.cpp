#include <spex/model/spexphormer.h>

#include <algorithm>
#include <cmath>

namespace spex {
namespace {

constexpr size_t kLayersAlone = 4;

size_t depth(const EstimatorOptions& options) {
  return options.layers > 0 ? options.layers : kLayersAlone;
}

}  // namespace

void EstimatorOptions::list(SettingList& s) {
  s.add("layers", layers, {0, 100}, "attention layers; 0: as many as the final network");
  s.add("width", width, {1, 1024}, "4 to 8 is enough");
  s.add("pre_layers", pre_layers, {0, 100}, "dense layers before attention");
  s.add("norm", norm, norm_words(), "none, layer, batch or graph");
  s.add("modulation", modulation, modulation_words(),
        "elementwise (paper) or sum (authors' program)");
  s.add("scale_by_width", scale_by_width, "divide scores by sqrt(width)");
  s.add("normalize_values", normalize_values, "give all values the same length");
  s.add("expander_bias", expander_bias, {-100, 100},
        "score that expander edges start from; below 0: look at graph edges first");
  s.add("temperature", anneal, "anneal the softmax temperature");
  s.add("lambda", lambda, {0, 1e6}, "epochs at temperature 1");
  s.add("gamma", gamma, {0, 1, Range::above}, "factor per epoch after that");
  s.add("tau_min", tau_min, {0, 1, Range::above}, "lowest temperature");
  s.add("clamp_first", clamp_first, "clamp scores before the temperature divides them, not after");
  s.add("tries", estimators, {1, 1000},
        "estimators to train; the best on samples drawn by its own scores is kept");
}

Needs EstimatorOptions::needs() const {
  Needs needs;
  needs.attention = true;
  needs.edge_features = true;
  needs.layers = depth(*this);
  needs.every_row = norm == Norm::graph;
  needs.row_floats = 2 * width;
  return needs;
}

// Deep networks with a local branch attend in their last layers: the scores of the last layer serve
// them all.
void EstimatorOptions::serve(const Needs& next) {
  if (layers > 0) return;
  layers = next.local ? std::min(next.layers, kLayersAlone) : next.layers;
}

double EstimatorOptions::temperature(size_t epoch) const {
  if (!anneal || epoch < lambda) return 1.0;
  return std::max(std::pow(gamma, static_cast<double>(epoch + 1 - lambda)), tau_min);
}

std::unique_ptr<Model> EstimatorOptions::make(const Shape& shape, uint64_t seed) const {
  TransformerOptions t;
  t.width = width;
  t.heads = 1;
  t.layers = depth(*this);
  t.pre_layers = pre_layers;
  t.norm = norm;
  t.normalize_values = normalize_values;
  t.scale_by_width = scale_by_width;
  t.modulation = modulation;
  t.clamp_first = clamp_first;
  t.expander_bias = expander_bias;
  return std::make_unique<Transformer>(shape, t, seed);
}

}  // namespace spex
