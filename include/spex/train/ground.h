// What a model is run on: a data set, and the graphs and scores that the model needs of it.
#pragma once

#include <spex/data/dataset.h>
#include <spex/model/model.h>
#include <spex/sample/scores.h>

namespace spex {

struct Ground {
  Dataset data;
  AttentionGraph attention;   // with expander and self-loops; empty: not needed
  AttentionGraph transposed;  // of `attention`
  AttentionGraph local;  // the graph's own edges, undirected, and self-loops; empty: not needed
  Scores scores;         // no layers: none

  Graphs graphs() const;
  const Scores* scores_or_null() const { return scores.layers.empty() ? nullptr : &scores; }
};

// X, A X, .. A^hops X side by side, A the local graph with both factors 1 / sqrt(degree) and X the
// features with the columns of `extra`, if there are any, behind them. Dense, whatever the features
// were.
DenseFeatures hop_features(const Features& features, ConstMatrixView extra,
                           const AttentionGraph& local, size_t hops);

// All features, or those of `nodes`, in their order.
ModelInput whole_input(const Features& features);
class BatchFeatures {
 public:
  BatchFeatures(const Features& features, std::span<const NodeId> nodes);
  ModelInput input() const;

 private:
  Matrix dense_;
  SparseMatrix sparse_;
  bool is_sparse_;
};

}  // namespace spex
