// A model tried out on a small part of what it will be trained on.
#pragma once

#include <spex/plan/planner.h>

#include <vector>

namespace spex {

// The nodes that each layer of a step reads, first layer first; the last entry is what the last one
// computes.
using LayerNodes = std::vector<double>;

// The nodes of a batch of targets with these degrees, on average: of m draws among N nodes, N (1 -
// (1 - 1/N)^m) are distinct.
LayerNodes batch_nodes(const PlanInput& input, const SamplingOptions& sampling, size_t batch);

struct StepCost {
  double train_bytes = 0;     // above what is there before the step
  double evaluate_bytes = 0;  // the same for a forward pass that keeps nothing
  double train_seconds = 0;
  double evaluate_seconds = 0;
  double parameters = 0;
};

// One step on the whole graph, its last layer computing `last` nodes; evaluated in so many parts by
// models that can.
StepCost probe_whole(const PlanInput& input, const Phase& phase, const ExpanderConfig& expander,
                     size_t last, size_t row_parts = 1);
// One step on a batch whose layers read so many nodes.
StepCost probe_batch(const PlanInput& input, const Phase& phase, const LayerNodes& nodes);
// One step on random nodes and the edges among them, or on rows of features.
StepCost probe_part(const PlanInput& input, const Phase& phase, const ExpanderConfig& expander,
                    size_t nodes);

// One step on a subgraph of as many nodes as batch_size draws give.
StepCost probe_subgraph(const PlanInput& input, const Phase& phase, const ExpanderConfig& expander);

double attention_edges(const PlanInput& input, const Needs& needs, const ExpanderConfig& expander);

}  // namespace spex
