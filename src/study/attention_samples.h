// Samples of score vectors, node by node, for the studies of trained attention.
#pragma once

#include <spex/core/threads.h>
#include <spex/study/score_set.h>
#include <spex/study/statistics.h>

#include <functional>
#include <string>
#include <vector>

namespace spex {

// What is compared: the widths, and two references that know nothing. "uniform" has the same score
// for every neighbour, "random" a softmax of logits drawn from [-8, 8], as many as there are seeds.
enum class Reference { uniform, random };
void reference_row(std::vector<float>& out, Reference reference, const ScoreSet& set, size_t layer,
                   size_t seed, NodeId node);

// Names and sizes of the groups of a cloud: the widths, then uniform and random.
std::vector<std::string> sample_names(const ScoreSet& set);
std::vector<size_t> sample_sizes(const ScoreSet& set);

struct NodeScratch {
  Cloud cloud;
  std::vector<float> row;
};

// The vectors of one node in one layer, of all groups, and their distances.
void measure_node(Cloud& cloud, std::vector<float>& scratch, const ScoreSet& set, size_t layer,
                  NodeId node);

// Sums of doubles over blocks of rows, in block order.
struct Sums {
  std::vector<double> values;
  Sums& operator+=(const Sums& other);
};
// use(sums, node, scratch) for every row that counts; `make` gives each block its own scratch.
template <class Make, class Use>
std::vector<double> sum_over_rows(const ScoreSet& set, size_t count, Make make, Use use) {
  constexpr size_t kRows = 64;
  Sums zero{std::vector<double>(count, 0.0)};
  return parallel_sum(set.rows.size(), kRows, zero,
                      [&](size_t begin, size_t end) {
                        Sums sums = zero;
                        auto scratch = make();
                        for (size_t r = begin; r < end; ++r) use(sums.values, set.rows[r], scratch);
                        return sums;
                      })
      .values;
}

}  // namespace spex
