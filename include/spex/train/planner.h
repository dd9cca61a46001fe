// What a run will need, before anything large is allocated: bytes and seconds per phase. The
// formulas are in docs/performance.md; tests/train/planner_test.cpp compares them with
// what is then measured.
#pragma once

#include <spex/data/dataset.h>
#include <spex/train/config.h>

#include <string>
#include <vector>

namespace spex {

// What the plan depends on besides the configuration.
struct PlanInput {
  size_t nodes = 0;
  size_t edges = 0;  // directed, without expander and self-loops
  size_t features = 0;
  size_t outputs = 0;  // logits per node
  size_t train_nodes = 0;
  size_t resident_bytes = 0;  // counted memory of the data set (nothing when it is mapped)
  bool symmetric = true;      // a directed graph has a transpose of its own
  bool scores_given = false;  // no estimator is trained
};
PlanInput plan_input(const Dataset& data, const Config& config);

struct PhasePlan {
  std::string name;    // "attention graph", "estimator", "final"
  size_t bytes = 0;    // peak of counted memory while it runs, data and graph included
  double seconds = 0;  // of all its epochs
};

struct Plan {
  std::vector<PhasePlan> phases;
  size_t batch_size = 0;  // the one in force; 0: the whole graph
  bool recompute = false;

  size_t peak_bytes() const;
  double seconds() const;
};

Plan make_plan(const PlanInput& input, const Config& config);

// Chooses the largest batch with which the run stays below `memory` bytes and writes it into the
// configuration. Throws, saying the least that would fit and what to change, if there is none.
Plan fit_plan(const PlanInput& input, Config& config, size_t memory);

std::string describe(const Plan& plan);

// "2GiB", "1.5 GB", "800M" to bytes.
size_t parse_size(const std::string& text);
std::string format_size(size_t bytes);

}  // namespace spex
