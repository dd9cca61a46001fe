// Which nodes are trained on, chosen from and tested on.
#pragma once

#include <spex/data/dataset.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace spex {

// A split the data set came with. Throws, saying how many there are, if there is no such one.
const Split& stored_split(const Dataset& dataset, size_t number);

// Both splits below draw from the nodes that have a label, and are a function of the seed.
struct SplitRatio {
  double train = 0.6;
  double validation = 0.2;
  double test = 0.2;  // shares of the labelled nodes; the sum is at most 1
};
Split random_split(const Labels& labels, const SplitRatio& ratio, uint64_t seed);

// `train` nodes of each class, then `validation` and `test` nodes of the rest: 20, 500 and 1000 in
// the usual semi-supervised setting.
struct SplitCounts {
  size_t train_per_class = 20;
  size_t validation = 500;
  size_t test = 1000;
};
Split per_class_split(const Labels& labels, const SplitCounts& counts, uint64_t seed);

// The training and validation nodes of a split, no test nodes. Fold 0 has them as they are; the
// others divide them anew, in equal numbers, of every class where there are classes: where shares of
// the two parts differ, they differ in the same way.
Split without_test(const Split& split, const Labels& labels, size_t fold = 0);

// A split whose validation nodes are divided at random: one half stays, the other takes the place of
// the test nodes, which are left out.
Split judged_by_halves(const Split& split);

// How many of these nodes, all of them labelled, are of each class.
std::vector<double> class_counts(const Labels& labels, std::span<const NodeId> nodes);

// "60/20/20", "50/25/25", "10/10/80": percent.
SplitRatio parse_ratio(const std::string& text);

// "20/500/1000": training nodes of each class, then validation and test nodes.
SplitCounts parse_counts(const std::string& text);

}  // namespace spex
