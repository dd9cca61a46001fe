// The attention scores of many networks: every width, every seed, on one attention graph. They are
// trained once and kept as files of 16-bit floats, one per network; studies map those and walk
// through the nodes, so memory does not grow with the number of networks.
#pragma once

#include <spex/sample/scores.h>
#include <spex/study/study.h>

#include <string>
#include <vector>

namespace spex {

// Which edges there are.
enum class Scenario { graph, expander };
std::string_view name(Scenario scenario);  // "graph alone", "with expander"

// All networks of one width.
struct WidthScores {
  size_t width = 0;
  double learning_rate = 0;  // the best on validation
  std::vector<Scores> seeds;
  std::vector<double> validation, test;  // of each
};

struct ScoreSet {
  Scenario scenario = Scenario::graph;
  AttentionGraph graph;
  size_t expander_degree = 0;
  size_t layers = 0;
  std::vector<WidthScores> widths;  // ascending
  std::vector<NodeId> rows;         // with at least two neighbours: those that are compared
};

// Trains what is not yet in request.out.
ScoreSet make_score_set(const StudyRequest& request, Scenario scenario);
std::vector<ScoreSet> make_score_sets(const StudyRequest& request);  // both

// What the pages of all studies of such sets say about how they were made.
std::vector<std::string> score_set_choices(const std::vector<ScoreSet>& sets);

// The scores of a row as floats.
void load_row(std::vector<float>& out, const ScoreSet& set, const Scores& scores, size_t layer,
              NodeId node);

}  // namespace spex
