// Predictions of a trained run: on its own graph from what the run directory maps, or on another
// graph with the same features, where the estimator is run first.
#pragma once

#include <spex/run/networks.h>
#include <spex/train/ground.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <vector>

namespace spex {

struct Predictions {
  std::vector<NodeId> nodes;
  NodeKeys keys;  // what the data set calls its nodes
  Matrix values;  // nodes x (classes, labels or targets): probabilities, or the targets themselves
  Meaning meaning;
};

// Logits to probabilities, by task; two classes give two columns.
Matrix to_probabilities(ConstMatrixView logits, const Meaning& meaning);

// What a run trained, on the graph that it is asked about. Nodes are in range and differ; rows come
// in their order.
struct Predictor {
  Config config;
  std::vector<TrainedNetwork> networks;  // alike but for their state; predictions are averaged
  Ground ground;

  const SavedModel& saved() const { return networks.front().saved; }
  Matrix logits(std::span<const NodeId> nodes, size_t batch = 0, size_t sample = 0) const;
  // Averages over so many samples.
  Matrix probabilities(std::span<const NodeId> nodes, size_t batch = 0, size_t samples = 1) const;
  // What the last layer before the outputs gives, of the first network.
  Matrix embeddings(std::span<const NodeId> nodes, size_t batch = 0) const;
  // The scores that the networks draw by, or those of the first one's own attention if that has one
  // head.
  Scores attention() const;
};

// On the run's own graph, from what its directory maps; the data set is read unless it is given.
Predictor open_run(const std::filesystem::path& run, std::optional<Dataset> data = {});
// On another data set with the same features, where the run's estimator gives the scores.
Predictor open_run_on(const std::filesystem::path& run, Dataset data);

// Throws unless every node is below `count` and stands there once.
void check_nodes(std::span<const NodeId> nodes, size_t count);

struct PredictOptions {
  std::filesystem::path run;
  std::string data;               // another data set; empty: the run's own
  std::vector<NodeId> nodes;      // empty: all
  std::vector<std::string> keys;  // nodes by what the data set calls them, after `nodes`
  size_t batch = 0;
  size_t samples = 1;  // predictions of so many samples are averaged
};
Predictions predict(const PredictOptions& options);

// One line per node: its key, prediction, and the probabilities (or label probabilities, or
// targets).
void write_csv(std::ostream& out, const Predictions& predictions);

}  // namespace spex
