// Predictions of a trained run: on its own graph from what the run directory maps, or on another
// graph with the same features, where the estimator is run first.
#pragma once

#include <spex/train/phases.h>

#include <filesystem>
#include <ostream>
#include <span>
#include <string>
#include <vector>

namespace spex {

// What the numbers of a prediction mean.
struct Meaning {
  Task task = Task::classes;
  std::vector<std::string> class_names;  // one per class; numbers where the data has no names
};

struct Predictions {
  std::vector<NodeId> nodes;
  Matrix values;  // nodes x (classes, labels or targets): probabilities, or the targets themselves
  Meaning meaning;
};

// Logits of `nodes`, in their order, for one sample of the neighbourhoods. batch 0: all nodes in
// one pass where the graph is small, else 1000 at a time.
Matrix predict_logits(Network& network, const Features& features, const AttentionGraph& graph,
                      const AttentionGraph& transposed, const Scores* scores, const Config& config,
                      size_t seed, size_t epoch, std::span<const NodeId> nodes, size_t batch);

// Logits to probabilities, by task; two classes give two columns.
Matrix to_probabilities(ConstMatrixView logits, const Meaning& meaning);

Meaning meaning_of(const Dataset& data);

struct PredictOptions {
  std::filesystem::path run;
  std::string data;           // another data set; empty: the run's own
  std::vector<NodeId> nodes;  // empty: all
  size_t batch = 0;
  size_t samples = 1;  // predictions of so many samples are averaged
};
Predictions predict(const PredictOptions& options);

// One line per node: node, prediction, and the probabilities (or label probabilities, or targets).
void write_csv(std::ostream& out, const Predictions& predictions);

// The attention graph of a run, mapped back as it was written.
void save_attention_graph(const std::filesystem::path& path, const AttentionGraph& graph,
                          uint64_t fingerprint);
struct SavedGraph {
  AttentionGraph graph;
  uint64_t fingerprint = 0;
};
SavedGraph load_attention_graph(const std::filesystem::path& path);

}  // namespace spex
