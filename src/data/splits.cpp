#include <spex/core/error.h>
#include <spex/core/random.h>
#include <spex/data/splits.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "data/draft.h"
#include "data/formats/csv.h"

namespace spex {
namespace {

std::vector<NodeId> shuffled(const std::vector<NodeId>& nodes, const Random& random) {
  std::vector<NodeId> result;
  for (uint32_t i : random_permutation(nodes.size(), random)) result.push_back(nodes[i]);
  return result;
}

// Nodes with a label (one class, or at least one value), in random order.
std::vector<NodeId> shuffled_labelled(const Labels& labels, uint64_t seed) {
  require(labels.outputs > 0, "a split needs labels, and this data set has none");
  std::vector<NodeId> nodes;
  if (labels.task == Task::classes) {
    for (size_t i = 0; i < labels.classes.size(); ++i)
      if (labels.classes[i] >= 0) nodes.push_back(static_cast<NodeId>(i));
  } else {
    for (size_t i = 0; i < labels.values.size() / labels.outputs; ++i) {
      auto row = labels.values.span().subspan(i * labels.outputs, labels.outputs);
      if (!std::all_of(row.begin(), row.end(), [](float v) { return std::isnan(v); }))
        nodes.push_back(static_cast<NodeId>(i));
    }
  }
  return shuffled(nodes, Random(seed, Purpose::split));
}

SharedArray<NodeId> ascending(std::span<const NodeId> nodes) {
  std::vector<NodeId> sorted(nodes.begin(), nodes.end());
  std::sort(sorted.begin(), sorted.end());
  return share(std::move(sorted));
}

template <class Number>
std::array<Number, 3> three_numbers(const std::string& text, const char* expected) {
  std::array<Number, 3> numbers{};
  size_t begin = 0;
  for (size_t part = 0; part < 3; ++part) {
    size_t end = part < 2 ? text.find('/', begin) : text.size();
    require(
        end != std::string::npos && parse_number(text.substr(begin, end - begin), numbers[part]),
        "'{}' is not a split; expected {}", text, expected);
    begin = end + 1;
  }
  return numbers;
}

}  // namespace

const Split& stored_split(const Dataset& dataset, size_t number) {
  require(number < dataset.splits.size(), "{} has {} stored splits, so there is no split {}{}",
          dataset.source, dataset.splits.size(), number,
          dataset.splits.empty() ? "; ask for a random one" : "; the first is 0");
  return dataset.splits[number];
}

Split random_split(const Labels& labels, const SplitRatio& ratio, uint64_t seed) {
  require(ratio.train > 0 && ratio.validation > 0 && ratio.test > 0 &&
              ratio.train + ratio.validation + ratio.test <= 1.0 + 1e-9,
          "a split of {:.3g}/{:.3g}/{:.3g} does not work: each part must be above 0, the sum at "
          "most 1",
          ratio.train, ratio.validation, ratio.test);
  std::vector<NodeId> nodes = shuffled_labelled(labels, seed);
  auto count = [&](double share) {
    return static_cast<size_t>(std::floor(share * static_cast<double>(nodes.size()) + 1e-6));
  };
  size_t train = count(ratio.train), validation = count(ratio.validation);
  size_t end = std::min(nodes.size(), count(ratio.train + ratio.validation + ratio.test));
  require(train > 0 && validation > 0 && train + validation < end,
          "{} labelled nodes are too few to split", nodes.size());
  std::span<const NodeId> all = nodes;
  return {ascending(all.first(train)), ascending(all.subspan(train, validation)),
          ascending(all.subspan(train + validation, end - train - validation))};
}

Split per_class_split(const Labels& labels, const SplitCounts& counts, uint64_t seed) {
  require(labels.task == Task::classes, "a split by class needs one class per node");
  require(counts.train_per_class > 0 && counts.validation > 0 && counts.test > 0,
          "a split by class needs at least one node in each part");
  std::vector<size_t> taken(labels.outputs);
  std::vector<NodeId> train, rest;
  for (NodeId node : shuffled_labelled(labels, seed)) {
    size_t& of_class = taken[static_cast<size_t>(labels.classes[node])];
    (of_class < counts.train_per_class ? train : rest).push_back(node);
    of_class = std::min(of_class + 1, counts.train_per_class);
  }
  require(rest.size() >= counts.validation + counts.test,
          "after {} training nodes per class {} labelled nodes are left, expected at least {}",
          counts.train_per_class, rest.size(), counts.validation + counts.test);
  // Large classes fill their quota first, so the rest is no longer in random order.
  std::vector<NodeId> others = shuffled(rest, Random(seed, Purpose::split, 1));
  std::span<const NodeId> all = others;
  return {ascending(train), ascending(all.first(counts.validation)),
          ascending(all.subspan(counts.validation, counts.test))};
}

Split without_test(const Split& split, const Labels& labels, size_t fold) {
  if (fold == 0) return {split.train, split.validation, {}};
  std::vector<NodeId> nodes(split.train.begin(), split.train.end());
  nodes.insert(nodes.end(), split.validation.begin(), split.validation.end());
  bool classes = labels.task == Task::classes;
  auto of = [&](NodeId node) { return classes ? static_cast<size_t>(labels.classes[node]) : 0; };
  std::vector<size_t> wanted(classes ? labels.outputs : 1);
  for (NodeId node : split.train) ++wanted[of(node)];
  std::vector<NodeId> train, validation;
  for (NodeId node : shuffled(nodes, Random(fold, Purpose::split))) {
    size_t& left = wanted[of(node)];
    (left > 0 ? train : validation).push_back(node);
    if (left > 0) --left;
  }
  return {ascending(train), ascending(validation), {}};
}

Split judged_by_halves(const Split& split) {
  std::vector<NodeId> nodes(split.validation.begin(), split.validation.end());
  nodes = shuffled(nodes, Random(0, Purpose::split, 2));
  std::span<const NodeId> all = nodes;
  size_t half = (all.size() + 1) / 2;
  return {split.train, ascending(all.first(half)), ascending(all.subspan(half))};
}

std::vector<double> class_counts(const Labels& labels, std::span<const NodeId> nodes) {
  std::vector<double> counts(labels.outputs, 0.0);
  for (NodeId node : nodes) ++counts[static_cast<size_t>(labels.classes[node])];
  return counts;
}

SplitRatio parse_ratio(const std::string& text) {
  auto parsed = three_numbers<float>(text, "percentages such as 60/20/20");
  std::array<double, 3> percent{parsed[0], parsed[1], parsed[2]};
  double sum = percent[0] + percent[1] + percent[2];
  require(percent[0] > 0 && percent[1] > 0 && percent[2] > 0 && sum <= 100.0 + 1e-6,
          "'{}' is not a split; expected three percentages above 0 that sum to at most 100", text);
  return {percent[0] / 100, percent[1] / 100, percent[2] / 100};
}

SplitCounts parse_counts(const std::string& text) {
  constexpr const char* kExpected = "counts such as 20/500/1000";
  auto counts = three_numbers<int64_t>(text, kExpected);
  for (int64_t count : counts)
    require(count > 0 && count <= std::numeric_limits<NodeId>::max(),
            "'{}' is not a split; expected {}", text, kExpected);
  return {static_cast<size_t>(counts[0]), static_cast<size_t>(counts[1]),
          static_cast<size_t>(counts[2])};
}

}  // namespace spex
