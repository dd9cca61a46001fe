// Predictions of a trained run: on its own graph from what the run directory maps, or on another
// graph with the same features, where the estimator is run first.
#pragma once

#include <spex/run/model_file.h>

#include <filesystem>
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
