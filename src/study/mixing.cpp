// What expander edges do to a graph: the spectral gap of a random walk on it, and the number of
// layers after which every node has seen every other.
#include <fmt/format.h>
#include <spex/graph/builder.h>
#include <spex/graph/expander.h>

#include <algorithm>
#include <cmath>

#include "study/reach.h"
#include "study/studies.h"

namespace spex {
namespace {

AttentionGraph with_expander(const Dataset& data, const ExpanderConfig& config, size_t degree) {
  AttentionGraph own = local_graph(data.graph);
  if (degree == 0) return own;
  ExpanderOptions options;
  options.degree = degree;
  options.seed = config.seed;
  options.tries = static_cast<int>(config.tries);
  // The graph's own edges, undirected, without the self-loop that ends every row.
  std::vector<NodeId> sources, targets;
  for (size_t i = 0; i < own.nodes(); ++i)
    for (EdgeOffset e = own.offsets[i]; e + 1 < own.offsets[i + 1]; ++e) {
      sources.push_back(static_cast<NodeId>(i));
      targets.push_back(own.neighbours[e]);
    }
  CsrGraph graph = build_csr(own.nodes(), sources, targets).graph;
  return augment(graph, make_expander(own.nodes(), options).graph);
}

}  // namespace

StudyRecord study_mixing(const StudyRequest& request) {
  StudyRecord record;
  record.table.names = {"edges"};
  record.table.values = {"layers", "pairs seen", "spectral gap"};
  size_t degree = std::max<size_t>(request.config.expander.degree, 4);
  struct Outcome {
    double gap = 0;
    Reach reach;
  };
  std::vector<Outcome> outcomes;
  for (size_t each : {size_t{0}, degree}) {
    AttentionGraph graph = with_expander(request.data, request.config.expander, each);
    Outcome outcome{walk_gap(graph), measure_reach(graph, request.config.seed)};
    std::string label = each == 0 ? "graph alone" : fmt::format("with expander of degree {}", each);
    for (size_t l = 0; l < outcome.reach.seen.size(); ++l)
      record.table.add({label}, {static_cast<double>(l), outcome.reach.seen[l], outcome.gap});
    outcomes.push_back(std::move(outcome));
  }
  const Outcome &alone = outcomes[0], &expanded = outcomes[1];
  auto nodes = static_cast<double>(request.data.nodes());
  auto layers = [](const Reach& reach) {
    return reach.complete
               ? fmt::format("{} layers", reach.seen.size() - 1)
               : fmt::format("never (at most {:.1f}% of the pairs)", 100 * reach.seen.back());
  };
  record.findings = {
      {"with expander edges every node sees every other within O(log N) layers",
       fmt::format("within ln N = {:.1f} layers", std::log(nodes)),
       fmt::format("{}; without: {}", layers(expanded.reach), layers(alone.reach)),
       expanded.reach.complete &&
           static_cast<double>(expanded.reach.seen.size() - 1) <= std::log(nodes)},
      {"expander edges widen the spectral gap",
       "the gap of the random walk with them is above that without",
       fmt::format("{:.4f} against {:.4f}", expanded.gap, alone.gap), expanded.gap > alone.gap}};
  StudyFigure figure;
  figure.title = "Who has seen whom";
  figure.sentence =
      "Share of ordered pairs of nodes where one has seen the other after so many "
      "layers.";
  figure.kind = "lines";
  figure.x = "layers";
  figure.y = "pairs seen";
  figure.series = "edges";
  figure.x_title = "layers";
  figure.y_title = "pairs of nodes";
  figure.y_unit = "percent";
  figure.log_x = false;
  record.figures = {figure};
  record.choices = {
      "The gap is one less the second-largest eigenvalue of the random walk on the graph with "
      "self-loops, edges taken undirected; it is 0 where the graph falls apart.",
      alone.reach.sampled
          ? fmt::format("Pairs are those of {} random nodes with all others.", kReachSources)
          : "All pairs are counted."};
  return record;
}

}  // namespace spex
