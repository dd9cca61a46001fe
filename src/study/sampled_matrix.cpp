#include "study/sampled_matrix.h"

#include <spex/core/random.h>
#include <spex/core/threads.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "study/lanczos.h"

namespace spex {
namespace {

constexpr size_t kRows = 1024;
// Rows are dealt to so many sums of columns, however many threads there are: each adds to its own,
// and the sums are added in order.
constexpr size_t kParts = 4;

// Calls use(i, scores of row i) for a range of rows.
template <class Use>
void for_rows(const AttentionGraph& graph, std::span<const Half> scores, size_t begin, size_t end,
              Use use) {
  std::vector<float> row;
  for (size_t i = begin; i < end; ++i) {
    row.resize(graph.offsets[i + 1] - graph.offsets[i]);
    to_float(row, scores.subspan(graph.offsets[i], row.size()));
    use(i, std::span<const float>(row));
  }
}

// One draw: the first entry at which the running sum passes `place`.
size_t entry_at(std::span<const double> running, double place) {
  auto found = std::upper_bound(running.begin(), running.end(), place);
  return std::min<size_t>(static_cast<size_t>(found - running.begin()), running.size() - 1);
}

// A - B as an operator and its transpose.
class Difference {
 public:
  Difference(const AttentionGraph& graph, std::span<const Half> scores,
             const SampledMatrix* sampled)
      : graph_(graph), scores_(scores), sampled_(sampled), forward_(graph.nodes()) {
    for (std::vector<float>& part : parts_) part.resize(graph.nodes());
  }

  // out = (A - B)^T (A - B) in
  void apply(std::span<double> out, std::span<const double> in) {
    in_.assign(in.begin(), in.end());
    parallel_for(graph_.nodes(), kRows, [&](size_t begin, size_t end) {
      for_rows(graph_, scores_, begin, end, [&](size_t i, std::span<const float> row) {
        double sum = 0;
        const NodeId* columns = graph_.neighbours.data() + graph_.offsets[i];
        for (size_t j = 0; j < row.size(); ++j) sum += row[j] * in_[columns[j]];
        for_samples(i, [&](NodeId column, float value) { sum -= value * in_[column]; });
        forward_[i] = static_cast<float>(sum);
      });
    });
    size_t share = (graph_.nodes() + kParts - 1) / kParts;
    parallel_blocks(kParts, [&](size_t p) {
      std::vector<float>& sums = parts_[p];
      std::fill(sums.begin(), sums.end(), 0.0F);
      size_t end = std::min(graph_.nodes(), (p + 1) * share);
      for_rows(graph_, scores_, std::min(p * share, end), end,
               [&](size_t i, std::span<const float> row) {
                 const NodeId* columns = graph_.neighbours.data() + graph_.offsets[i];
                 for (size_t j = 0; j < row.size(); ++j) sums[columns[j]] += row[j] * forward_[i];
                 for_samples(
                     i, [&](NodeId column, float value) { sums[column] -= value * forward_[i]; });
               });
    });
    parallel_for(graph_.nodes(), kRows, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        double sum = 0;
        for (const std::vector<float>& part : parts_) sum += part[i];
        out[i] = sum;
      }
    });
  }

 private:
  template <class Use>
  void for_samples(size_t row, Use use) const {
    if (!sampled_) return;
    for (size_t s = row * sampled_->k; s < (row + 1) * sampled_->k; ++s)
      if (sampled_->values[s] != 0) use(sampled_->columns[s], sampled_->values[s]);
  }

  const AttentionGraph& graph_;
  std::span<const Half> scores_;
  const SampledMatrix* sampled_;
  std::vector<float> in_, forward_;
  std::vector<float> parts_[kParts];
};

}  // namespace

SampledMatrix sample_matrix(const AttentionGraph& graph, std::span<const Half> scores, size_t k,
                            const RowChances& chances, uint64_t seed) {
  SampledMatrix sampled;
  sampled.rows = graph.nodes();
  sampled.k = k;
  sampled.columns = Buffer<NodeId>(sampled.rows * k, MemoryTag::other);
  sampled.values = Buffer<float>(sampled.rows * k, MemoryTag::other);
  Random random(seed, Purpose::sampling, ~0U);
  parallel_for(graph.nodes(), kRows, [&](size_t begin, size_t end) {
    std::vector<float> each;
    std::vector<double> running;
    for_rows(graph, scores, begin, end, [&](size_t i, std::span<const float> row) {
      each.resize(row.size());
      running.resize(row.size());
      chances(each, row, i);
      double total = 0;
      for (size_t j = 0; j < row.size(); ++j) running[j] = total += each[j];
      for (size_t s = i * k; s < (i + 1) * k; ++s) {
        sampled.values[s] = 0;
        sampled.columns[s] = 0;
        if (total <= 0) continue;
        size_t j = entry_at(running, total * random.uniform(s));
        sampled.columns[s] = graph.neighbours[graph.offsets[i] + j];
        sampled.values[s] = static_cast<float>(row[j] * total / (static_cast<double>(k) * each[j]));
      }
    });
  });
  return sampled;
}

double spectral_norm(const AttentionGraph& graph, std::span<const Half> scores,
                     const SampledMatrix* sampled, double tolerance) {
  Difference difference(graph, scores, sampled);
  LanczosOptions options;
  options.tolerance = 2 * tolerance;  // of the square
  double square = largest_eigenvalue(
      graph.nodes(),
      [&](std::span<double> out, std::span<const double> in) { difference.apply(out, in); },
      options);
  return std::sqrt(std::max(0.0, square));
}

}  // namespace spex
