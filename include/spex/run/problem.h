// A data set made ready for training: its split, and the graphs that a method's models need.
#pragma once

#include <spex/config/config.h>
#include <spex/plan/planner.h>
#include <spex/run/preparation.h>
#include <spex/train/ground.h>

namespace spex {

struct Problem : Ground {
  Split split;
  Preparation preparation;
  uint64_t data_fingerprint = 0;  // of the data set as it was read; 0: not known
  uint64_t fingerprint = 0;       // of that and the attention graph; 0: there is none
  double spectral_gap = 0;        // of the expander; 0: not computed
  double required_gap = 0;
  double graph_seconds = 0;  // making the graphs took so long
};

// A generator's name, or a file or folder.
Dataset open_data(const std::string& data);

// The split that the configuration asks for: a stored one, or a random one by ratio (60/20/20 when
// the data set brings none and no ratio is given).
Split choose_split(const Dataset& data, const SplitConfig& config);

// What all phases of the method need of a data set. `gaps` gets the expander's, if there is one.
struct Gaps {
  double spectral = 0;
  double required = 0;
};
Ground make_ground(Dataset data, const Config& config, Gaps* gaps = nullptr);

// Gives the attention graph of a data set what its edges have of features, if anything.
void use_edge_features(AttentionGraph& attention, const Dataset& data);

// What scores belong to: an attention graph, and the data set it was made of.
uint64_t run_fingerprint(const AttentionGraph& graph, uint64_t data);

// A graph's own edges, made undirected, and self-loops.
AttentionGraph local_graph(const CsrGraph& graph);

// Puts the features' averages over some hops beside them, where a model needs them: with the
// graph's eigenvectors among the features, where it needs those.
void add_hops(Dataset& data, const Needs& needs);

Problem make_problem(PreparedData prepared, const Config& config);
Problem make_problem(Dataset data, const Config& config);  // prepares it first

// What a plan must know of the data, which is prepared.
PlanInput plan_input(const Dataset& data, const Config& config);

}  // namespace spex
