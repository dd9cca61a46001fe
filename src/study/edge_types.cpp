// How much attention graph edges, expander edges and self-loops get, per node and per edge.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "study/attention_samples.h"
#include "study/studies.h"

namespace spex {
namespace {

constexpr size_t kTypes = 3;
const std::array<const char*, kTypes> kTypeNames = {"graph", "expander", "self-loop"};
constexpr double kUsed = 0.05;

std::array<double, kTypes> edges_by_type(const ScoreSet& set) {
  std::array<double, kTypes> edges{};
  for (NodeId node : set.rows)
    for (size_t t = 0; t < kTypes; ++t)
      edges[t] +=
          static_cast<double>(set.graph.segment_end(t, node) - set.graph.segment_begin(t, node));
  return edges;
}

// The sums over all rows of one network in one layer.
std::vector<double> mass_by_type(const ScoreSet& set, const Scores& scores, size_t layer) {
  return sum_over_rows(
      set, kTypes, [] { return std::vector<float>(); },
      [&](std::vector<double>& sums, NodeId node, std::vector<float>& row) {
        load_row(row, set, scores, layer, node);
        EdgeOffset begin = set.graph.offsets[node];
        for (size_t t = 0; t < kTypes; ++t)
          for (EdgeOffset e = set.graph.segment_begin(t, node); e < set.graph.segment_end(t, node);
               ++e)
            sums[t] += row[e - begin];
      });
}

}  // namespace

StudyRecord study_edge_types(const StudyRequest& request) {
  ScoreSet set = make_score_set(request, Scenario::expander);
  std::array<double, kTypes> edges = edges_by_type(set);
  StudyRecord record;
  record.table.names = {"width", "layer", "type"};
  record.table.values = {"share", "low", "high", "per edge"};
  bool graph_more = true;
  double least_used = 1;
  std::string numbers;
  auto rows = static_cast<double>(set.rows.size());
  for (const WidthScores& width : set.widths) {
    std::array<double, kTypes> share{}, per_edge{};
    std::string label = fmt::format("width {}", width.width);
    for (size_t l = 0; l < set.layers; ++l) {
      std::array<std::vector<double>, kTypes> masses;
      for (const Scores& scores : width.seeds) {
        std::vector<double> mass = mass_by_type(set, scores, l);
        for (size_t t = 0; t < kTypes; ++t) masses[t].push_back(mass[t] / rows);
      }
      for (size_t t = 0; t < kTypes; ++t) {
        Moments m = moments(masses[t]);
        double each = edges[t] > 0 ? m.mean * rows / edges[t] : 0.0;
        share[t] += m.mean / static_cast<double>(set.layers);
        per_edge[t] += each / static_cast<double>(set.layers);
        record.table.add({label, fmt::format("layer {}", l + 1), kTypeNames[t]},
                         {m.mean, m.mean - m.deviation, m.mean + m.deviation, each});
      }
    }
    for (size_t t = 0; t < kTypes; ++t)
      record.table.add({label, "all layers", kTypeNames[t]},
                       {share[t], share[t], share[t], per_edge[t]});
    graph_more &= per_edge[0] > per_edge[1];
    least_used = std::min(least_used, share[1]);
    numbers += fmt::format("{}{}: graph {:.4f}, expander {:.4f}", numbers.empty() ? "" : "; ",
                           label, per_edge[0], per_edge[1]);
  }
  record.findings = {
      {"graph edges carry more per edge than expander edges",
       "averaged over layers, at every width", numbers, graph_more},
      {"expander edges are used",
       fmt::format("averaged over layers, they have at least {:.0f}% of the attention at every "
                   "width",
                   100 * kUsed),
       fmt::format("at least {:.1f}%", 100 * least_used), least_used >= kUsed}};
  StudyFigure sums;
  sums.title = "Attention by edge type";
  sums.sentence = "The share of a node's attention, the mean over nodes and seeds (Figure 21).";
  sums.kind = "bars";
  sums.x = "width";
  sums.y = "share";
  sums.series = "type";
  sums.panel = "layer";
  sums.low = "low";
  sums.high = "high";
  sums.x_title = "width";
  sums.y_title = "share of attention";
  sums.y_unit = "percent";
  StudyFigure each = sums;
  each.title = "Attention per edge";
  each.sentence = "Divided by the number of edges of the type (Figure 22), all layers.";
  each.y = each.y_title = "per edge";
  each.y_unit = each.low = each.high = "";
  each.only = {"layer=all layers"};
  record.figures = {sums, each};
  std::vector<ScoreSet> sets;
  sets.push_back(std::move(set));
  record.choices = score_set_choices(sets);
  record.choices.push_back(
      "Per edge: all attention on edges of a type over the number of such edges.");
  return record;
}

}  // namespace spex
