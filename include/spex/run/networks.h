// Networks that were trained alike but for their seeds, or settings that they take in turn, and predict
// together: the average of several is better than most of them, and steadier.
#pragma once

#include <spex/run/model_file.h>
#include <spex/train/ground.h>

#include <filesystem>
#include <memory>
#include <span>
#include <vector>

namespace spex {

struct TrainedNetwork {
  SavedModel saved;
  std::unique_ptr<Model> model;  // in its best state, which `saved` lacks
};
TrainedNetwork open_network(const std::filesystem::path& file);

// Logits whose probabilities are the averages of those of several networks; of targets, the
// averages themselves.
class LogitAverage {
 public:
  explicit LogitAverage(Task task) : task_(task) {}
  void add(Matrix logits);
  Matrix take();

 private:
  static constexpr float kNothing = -1e30F;  // the log of a probability that is 0
  bool one_logit(const Matrix& logits) const {
    return task_ == Task::classes && logits.cols() == 1;
  }
  void accumulate(const Matrix& logits);

  Task task_;
  size_t count_ = 0;
  Matrix sum_, no_;
};

// Rows that are of `nodes`, in their order, at the places of those among `count` nodes; 0 elsewhere.
Matrix placed(ConstMatrixView rows, std::span<const NodeId> nodes, size_t count);

// Of the average of networks, for nodes in their order. batch 0: what is best; `sample` numbers the
// samples that a model which draws can be run on.
Matrix logits_of(std::span<const TrainedNetwork> networks, const Ground& ground,
                 std::span<const NodeId> nodes, size_t batch, size_t sample = 0);

}  // namespace spex
