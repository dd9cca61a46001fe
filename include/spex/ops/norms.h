// Normalisations. `gain` and `bias` are 1 x C for an input of N x C. Statistics over nodes are
// summed in fixed blocks: their bytes do not depend on the number of threads.
#pragma once

#include <spex/graph/csr.h>
#include <spex/tensor/tape.h>

#include <span>
#include <vector>

namespace spex {

inline constexpr float kNormEpsilon = 1e-5F;

// Per row: y = gain (x - mean) / sqrt(variance + epsilon) + bias, variance biased.
Var layer_norm(Tape& tape, const Var& x, const Var& gain, const Var& bias);

// Per column averages of past batches: what batch norm uses in evaluation. Empty vectors become
// mean 0 and variance 1 at first use.
struct RunningStatistics {
  std::vector<float> mean, variance;
  float momentum = 0.1F;  // the weight of the newest batch
};

// Per column, over the `counted` rows, each once; empty: over all. In training the statistics of
// those rows are used for every row (variance biased), and `running` moves towards them (variance
// unbiased); otherwise `running` is used. `counted` must outlive backward.
Var batch_norm(Tape& tape, const Var& x, const Var& gain, const Var& bias,
               RunningStatistics& running, bool training, std::span<const NodeId> counted = {});

// Per column, over all rows: c = x - alpha mean, y = gain c / sqrt(mean of c^2 + epsilon) + bias.
// alpha: 1 x C, learned.
Var graph_norm(Tape& tape, const Var& x, const Var& gain, const Var& bias, const Var& alpha);

// Per row: y = s x / max(|x|, 1e-12). `s` is a learned scale, 1 x 1, or an empty Var for 1.
Var normalize_rows(Tape& tape, const Var& x, const Var& s = {});

// All numbers together: y = x / max(|x|, 1e-12), with |x| the root of the sum of all squares.
Var normalize_matrix(Tape& tape, const Var& x);

}  // namespace spex
