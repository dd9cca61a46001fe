// Networks that were trained alike but for their seeds, and predict together: the average of several
// is better than most of them, and steadier.
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
  std::unique_ptr<Model> model;  // in its best state
};
TrainedNetwork open_network(const std::filesystem::path& file);

// Logits whose probabilities are the averages of those of several networks; of targets, the
// averages themselves.
Matrix average_logits(std::vector<Matrix> logits, Task task);

// Of the average of networks, for nodes in their order. batch 0: what is best; `sample` numbers the
// samples that a model which draws can be run on.
Matrix logits_of(std::span<const TrainedNetwork> networks, const Ground& ground,
                 std::span<const NodeId> nodes, size_t batch, size_t sample = 0);

}  // namespace spex
