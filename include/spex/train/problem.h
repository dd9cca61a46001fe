// A data set made ready for training: its split, and the attention graph with the expander in it.
#pragma once

#include <spex/data/dataset.h>
#include <spex/graph/attention_graph.h>
#include <spex/train/config.h>

namespace spex {

struct Problem {
  Dataset data;
  Split split;
  AttentionGraph graph;
  AttentionGraph transposed;
  uint64_t fingerprint = 0;
  double spectral_gap = 0;  // of the expander; 0: not computed
  double required_gap = 0;
  double graph_seconds = 0;  // expander, attention graph and transpose
};

// A generator's name, or a file or folder.
Dataset open_data(const std::string& data);

// The split that the configuration asks for: a stored one, or a random one by ratio (60/20/20 when
// the data set brings none and no ratio is given).
Split choose_split(const Dataset& data, const DataConfig& config);

// The graph with expander and self-loops, and its transpose.
struct AugmentedGraph {
  AttentionGraph graph;
  AttentionGraph transposed;
  double spectral_gap = 0;
  double required_gap = 0;
};
AugmentedGraph make_attention_graph(const CsrGraph& graph, const Config& config);

Problem make_problem(Dataset data, const Config& config);

// Settings that suit the data: depth, degrees, width, batch size. Used where there is no preset.
Config default_config(const Dataset& data);

}  // namespace spex
