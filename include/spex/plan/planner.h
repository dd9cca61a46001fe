// What a run will need, before anything large is allocated: bytes and seconds per phase. Nothing is
// computed from formulas of a model: a few thousand nodes with the data's degrees go through it,
// forward and backward, and what that took is scaled up.
#pragma once

#include <spex/config/config.h>

#include <string>
#include <vector>

namespace spex {

// What the plan depends on besides the configuration.
struct PlanInput {
  size_t nodes = 0;
  size_t edges = 0;  // directed, without expander and self-loops
  size_t features = 0;
  size_t nonzeros = 0;  // of sparse features; 0: they are dense
  size_t outputs = 0;   // logits per node
  size_t edge_features = 0;
  size_t train_nodes = 0;
  size_t resident_bytes = 0;  // counted memory of the data set (nothing when it is mapped)
  bool symmetric = true;      // a directed graph has a transpose of its own
  bool scores_given = false;  // no estimator is trained
};

struct PhasePlan {
  std::string name;    // of the phase
  size_t bytes = 0;    // peak of counted memory while it runs, data and graph included
  double seconds = 0;  // of all its epochs
};

struct Plan {
  std::vector<PhasePlan> phases;
  size_t batch_size = 0;  // the one in force; 0: the whole graph

  size_t peak_bytes() const;
  double seconds() const;
};

Plan make_plan(const PlanInput& input, const Config& config);

// Chooses the largest batch with which the run stays below `memory` bytes and writes it into the
// configuration. Throws, saying the least that would fit and what to change, if there is none.
Plan fit_plan(const PlanInput& input, Config& config, size_t memory);

std::string describe(const Plan& plan);

}  // namespace spex
