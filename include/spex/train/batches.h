// An epoch as a sequence of steps: the whole graph at once, or batches of the kind a model is
// trained with. Training, evaluation and prediction all walk these.
#pragma once

#include <spex/train/ground.h>

#include <functional>
#include <memory>
#include <span>

namespace spex {

// What one forward pass runs on, and which of its logits count.
struct Step {
  ModelInput input;
  const Neighbourhood* neighbourhood = nullptr;
  std::span<const NodeId> nodes;   // the node of each row of logits; empty: row i is node i
  std::span<const NodeId> rows;    // the rows that count, each once
  std::span<const float> weights;  // of the losses, by row of logits; empty: ones
  double seconds = 0;              // that preparing it took
  CountedRows counted;             // in batch norm

  NodeId node(size_t row) const { return nodes.empty() ? static_cast<NodeId>(row) : nodes[row]; }
};

class Batches {
 public:
  using Use = std::function<void(const Step&)>;

  virtual ~Batches() = default;
  // Calls use(step) for every step of a training epoch, in order.
  virtual void train(size_t epoch, const Use& use) = 0;
  // Steps whose rows are `nodes`, in their order; or one step of all nodes, where that costs no
  // more.
  virtual void evaluate(size_t epoch, std::span<const NodeId> nodes, const Use& use) = 0;
  virtual bool evaluates_all() const = 0;
};

struct BatchOptions {
  size_t batch_size = 0;       // 0: all nodes at once
  uint64_t seed = 0;           // of samples and of the order of batches
  bool norm_over_all = false;  // Recipe's
};

// Ground and training nodes must outlive the batches. No training nodes: for prediction only.
std::unique_ptr<Batches> make_batches(const Ground& ground, std::span<const NodeId> train,
                                      const Needs& needs, const BatchOptions& options);

// The rows of `nodes`, in their order, of what compute(step) gives for each step of an evaluation:
// a row for each of the step's logits. Nothing if it gives nothing.
Matrix collect_rows(Batches& batches, size_t epoch, std::span<const NodeId> nodes,
                    const std::function<Var(const Step&)>& compute);

// Logits of `nodes`, in their order.
Matrix evaluate(Model& model, Batches& batches, const Pass& pass, std::span<const NodeId> nodes);

}  // namespace spex
