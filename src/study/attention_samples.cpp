#include "study/attention_samples.h"

#include <fmt/format.h>
#include <spex/core/random.h>

#include <algorithm>
#include <cmath>

namespace spex {
namespace {

constexpr double kLogitBound = 8.0;  // where the network clips its logits

void softmax(std::span<float> logits) {
  double sum = 0;
  for (float& value : logits) sum += value = std::exp(value);
  for (float& value : logits) value = static_cast<float>(value / sum);
}

}  // namespace

void reference_row(std::vector<float>& out, Reference reference, const ScoreSet& set, size_t layer,
                   size_t seed, NodeId node) {
  EdgeOffset begin = set.graph.offsets[node];
  size_t degree = set.graph.offsets[node + 1] - begin;
  out.assign(degree, 1.0F / static_cast<float>(degree));
  if (reference == Reference::uniform) return;
  Random random(seed, Purpose::generator, 0, static_cast<uint32_t>(layer));
  for (size_t j = 0; j < degree; ++j)
    out[j] = static_cast<float>(kLogitBound * (2 * random.uniform(begin + j) - 1));
  softmax(out);
}

std::vector<std::string> sample_names(const ScoreSet& set) {
  std::vector<std::string> names;
  for (const WidthScores& width : set.widths) names.push_back(fmt::format("width {}", width.width));
  names.insert(names.end(), {"uniform", "random"});
  return names;
}

std::vector<size_t> sample_sizes(const ScoreSet& set) {
  return std::vector<size_t>(set.widths.size() + 2, set.widths.front().seeds.size());
}

void measure_node(Cloud& cloud, std::vector<float>& scratch, const ScoreSet& set, size_t layer,
                  NodeId node) {
  cloud.start(set.graph.offsets[node + 1] - set.graph.offsets[node]);
  size_t group = 0;
  for (const WidthScores& width : set.widths) {
    for (size_t s = 0; s < width.seeds.size(); ++s) {
      load_row(scratch, set, width.seeds[s], layer, node);
      cloud.set(group, s, scratch);
    }
    ++group;
  }
  for (Reference reference : {Reference::uniform, Reference::random}) {
    for (size_t s = 0; s < cloud.size(group); ++s) {
      reference_row(scratch, reference, set, layer, s, node);
      cloud.set(group, s, scratch);
    }
    ++group;
  }
  cloud.measure();
}

Sums& Sums::operator+=(const Sums& other) {
  std::transform(values.begin(), values.end(), other.values.begin(), values.begin(), std::plus<>());
  return *this;
}

}  // namespace spex
