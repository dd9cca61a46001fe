// An attention matrix, and sparse ones that sampling makes of it.
#pragma once

#include <spex/core/half.h>
#include <spex/graph/attention_graph.h>

#include <functional>
#include <span>

namespace spex {

// k entries per row, drawn with replacement and weighted so that the expectation is the matrix.
struct SampledMatrix {
  size_t rows = 0, k = 0;
  Buffer<NodeId> columns;  // rows * k
  Buffer<float> values;    // rows * k; 0 in rows without entries
};

// What entry j of row i is drawn by; any positive numbers, given the row's scores.
using RowChances =
    std::function<void(std::span<float> chances, std::span<const float> scores, size_t row)>;
SampledMatrix sample_matrix(const AttentionGraph& graph, std::span<const Half> scores, size_t k,
                            const RowChances& chances, uint64_t seed);

// The largest singular value of A - B, or of A where B is null; A holds the scores.
double spectral_norm(const AttentionGraph& graph, std::span<const Half> scores,
                     const SampledMatrix* sampled, double tolerance);

}  // namespace spex
