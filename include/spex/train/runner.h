// One epoch of training and one evaluation, over the whole graph or in batches. What differs
// between the estimator, the final network and Exphormer is here; the loop around it (trainer.h) is
// the same.
#pragma once

#include <spex/data/dataset.h>
#include <spex/model/network.h>
#include <spex/sample/batch.h>
#include <spex/train/objective.h>
#include <spex/train/optimizer.h>

#include <functional>
#include <memory>

namespace spex {

// What an epoch is run with.
struct EpochSettings {
  size_t epoch = 0;
  double learning_rate = 0;
  float temperature = 1.0F;
};

struct TrainedEpoch {
  double loss = 0;
  double sample_seconds = 0;
};

class Runner {
 public:
  virtual ~Runner() = default;
  virtual TrainedEpoch train(const EpochSettings& settings) = 0;
  // Logits of all nodes (rows that were not asked for are NaN).
  virtual Matrix evaluate(const EpochSettings& settings, std::span<const NodeId> nodes) = 0;
  // Whether one evaluation gives all nodes at no extra cost.
  virtual bool evaluates_all() const = 0;
  // Runs a forward pass of training and returns the first stage whose values are not finite.
  virtual std::string find_not_finite(const EpochSettings& settings) = 0;
};

// What a runner works on; everything must outlive it.
struct RunnerContext {
  const Dataset& data;
  const Split& split;
  Network& network;
  Objective& objective;
  AdamW& optimiser;
  double clip = 1.0;
  uint64_t seed = 0;
};

// How many nodes the last layer computes in training when the whole graph is trained at once: the
// training nodes, unless those are nearly all or the graph is small. Nothing reads its other rows;
// batch norm's statistics are of the rows that a layer computes, so there must be a few hundred.
// Graph norm wants all.
size_t nodes_computed_last(Norm norm, size_t train_nodes, size_t nodes);

std::unique_ptr<Runner> full_graph_runner(RunnerContext context, const AttentionGraph& graph,
                                          const AttentionGraph& transposed);

// batch_size 0: all nodes at once. The builder must outlive the runner.
std::unique_ptr<Runner> batch_runner(RunnerContext context, BatchBuilder& builder,
                                     size_t batch_size, size_t resample_every);

// The features of `nodes`, in their order; the network reads them in place of all features.
class BatchFeatures {
 public:
  BatchFeatures(const Features& features, std::span<const NodeId> nodes);
  NetworkInput input() const;

 private:
  Matrix dense_;
  SparseMatrix sparse_;
  bool is_sparse_;
};

NetworkInput whole_input(const Features& features);

}  // namespace spex
