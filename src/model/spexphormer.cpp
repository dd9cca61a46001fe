#include <spex/model/spexphormer.h>

#include <algorithm>

namespace spex {

const Words<Sampling>& sampling_words() {
  static const Words<Sampling> words = {
      {"weighted", Sampling::weighted}, {"uniform", Sampling::uniform}, {"top", Sampling::top}};
  return words;
}

void SpexphormerOptions::list(SettingList& s) {
  s.add("width", width, {1, 1024}, "features per node, all heads together");
  s.add("heads", heads, {1, 64}, "attention heads");
  s.add("degrees", degrees, {1, 65535}, "neighbours to sample, per layer");
  s.add("pre_layers", pre_layers, {0, 100}, "dense layers before attention");
  s.add("post_layers", post_layers, {0, 100}, "dense layers after attention");
  s.add("norm", norm, sampled_norm_words(), "none, layer or batch");
  s.add("dropout", dropout, {0, 1, Range::below}, "share of activations dropped in training");
  s.add("recompute", recompute, "run layers again in backward: less memory, more time");
  s.add("sampling", sampling, sampling_words(), "weighted, uniform or top");
  s.add("resample_every", resample_every, {1, 1e6}, "epochs between new samples");
  s.add("truncate", truncate, {0, 1e9}, "draw from so many largest scores only; 0: all");
  s.add("log_scores", log_scores, "feed the estimator's log-scores to attention");
}

void SpexphormerOptions::check() const {
  check_heads(width, heads);
}

Needs SpexphormerOptions::needs() const {
  Needs needs;
  needs.attention = true;
  needs.edge_features = true;
  needs.scores = sampling != Sampling::uniform || log_scores;
  needs.layers = degrees.size();
  needs.row_floats = heads == 1 ? width : 2 * width;
  needs.batching = Batching::sampled;
  needs.sampling.kind = sampling;
  needs.sampling.degrees = degrees;
  if (truncate > 0)  // what was cut is never drawn, not even to fill a row
    for (size_t& degree : needs.sampling.degrees) degree = std::min(degree, truncate);
  needs.sampling.resample_every = resample_every;
  needs.sampling.truncate = truncate;
  needs.sampling.log_scores = log_scores;
  return needs;
}

std::unique_ptr<Model> SpexphormerOptions::make(const Shape& shape, uint64_t seed) const {
  TransformerOptions t;
  t.width = width;
  t.heads = heads;
  t.layers = degrees.size();
  t.pre_layers = pre_layers;
  t.post_layers = post_layers;
  t.norm = norm;
  t.dropout = dropout;
  t.recompute = recompute;
  t.log_scores = log_scores;
  return std::make_unique<Transformer>(shape, t, seed);
}

}  // namespace spex
