#include "c_api/parts.h"

#include <spex/core/error.h>

#include <algorithm>

#include "c_api/arrays.h"
#include "data/draft.h"

namespace spex {
namespace c_api {
namespace {

// One more than the largest node that an edge names.
size_t nodes_of_edges(const spex_array& edges) {
  uint64_t nodes = 0;
  visit(edges, [&](auto element) {
    for (size_t r = 0; r < rows(edges); ++r)
      for (size_t e = 0; e < columns(edges); ++e) {
        auto id = element(r, e);
        if (id >= 0) nodes = std::max(nodes, static_cast<uint64_t>(id) + 1);
      }
  });
  return nodes;
}

// The first part that has a row for each node says how many there are. A list of nodes does not.
size_t count_nodes(const DatasetParts& p) {
  if (p.nodes > 0) return p.nodes;
  if (present(p.features)) return rows(p.features);
  if (present(p.feature_offsets)) return rows(p.feature_offsets) - 1;
  if (present(p.labels)) return rows(p.labels);
  if (present(p.adjacency_offsets)) return rows(p.adjacency_offsets) - 1;
  for (const spex_array* mask : {&p.train, &p.validation, &p.test})
    if (present(*mask) && mask->type == SPEX_BOOL) return rows(*mask);
  return nodes_of_edges(p.edges);
}

void check_node_count(size_t nodes) {
  require(nodes > 0, "the graph has no nodes");
  require(nodes < UINT32_MAX, "{} nodes, expected less than {}", nodes, UINT32_MAX);
}

// A row of the graph lists what its node looks at: the sources of the edges that lead to it.
void add_edges(Draft& draft, const spex_array& edges) {
  size_t count = columns(edges);
  draft.sources.resize(count);
  draft.targets.resize(count);
  visit(edges, [&](auto element) {
    for (size_t e = 0; e < count; ++e) {
      draft.targets[e] = node_of(element(0, e), draft.nodes,
                                 [&] { return fmt::format("the source of edge {}", e); });
      draft.sources[e] = node_of(element(1, e), draft.nodes,
                                 [&] { return fmt::format("the target of edge {}", e); });
    }
  });
}

void add_adjacency(Draft& draft, const spex_array& offsets, const spex_array& columns) {
  require(rows(offsets) == draft.nodes + 1, "the adjacency has {} offsets for {} nodes, not {}",
          rows(offsets), draft.nodes, draft.nodes + 1);
  size_t count = rows(columns);
  draft.sources.resize(count);
  draft.targets.resize(count);
  visit(offsets, [&](auto offset) {
    require(offset(0) == 0 && static_cast<uint64_t>(offset(draft.nodes)) == count,
            "the adjacency's offsets run from {} to {}, expected 0 to {}", offset(0),
            offset(draft.nodes), count);
    visit(columns, [&](auto column) {
      for (size_t row = 0; row < draft.nodes; ++row) {
        auto begin = static_cast<uint64_t>(offset(row)),
             end = static_cast<uint64_t>(offset(row + 1));
        require(begin <= end && end <= count, "the adjacency's offsets fall at row {}", row);
        for (uint64_t e = begin; e < end; ++e) {
          draft.targets[e] = static_cast<NodeId>(row);
          draft.sources[e] = node_of(column(e), draft.nodes,
                                     [&] { return fmt::format("row {} of the adjacency", row); });
        }
      }
    });
  });
}

void add_edge_features(Draft& draft, const spex_array& values) {
  require(rows(values) == draft.sources.size(), "{} rows of edge features for {} edges",
          rows(values), draft.sources.size());
  draft.edge_width = columns(values);
  draft.edge_values.resize(rows(values) * columns(values));
  visit(values, [&](auto element) {
    for (size_t e = 0; e < rows(values); ++e)
      for (size_t c = 0; c < columns(values); ++c)
        draft.edge_values[e * columns(values) + c] = static_cast<float>(element(e, c));
  });
}

}  // namespace
}  // namespace c_api

ReadOptions edge_options(unsigned flags) {
  ReadOptions options;
  options.undirected = !(flags & SPEX_DIRECTED);
  options.drop_self_loops = !(flags & SPEX_KEEP_SELF_LOOPS);
  options.drop_duplicates = !(flags & SPEX_KEEP_DUPLICATES);
  return options;
}

Dataset build(const DatasetParts& parts) {
  using namespace c_api;  // NOLINT
  bool matrix = present(parts.adjacency_offsets);
  require(matrix || present(parts.edges), "{} has no edges; hand them in before it is built",
          parts.name);
  Draft draft;
  draft.path = parts.name;
  draft.nodes = count_nodes(parts);
  check_node_count(draft.nodes);
  if (matrix)
    add_adjacency(draft, parts.adjacency_offsets, parts.adjacency_columns);
  else
    add_edges(draft, parts.edges);
  if (present(parts.edge_features)) add_edge_features(draft, parts.edge_features);
  draft.features = features_of(parts);
  draft.labels = labels_of(parts, draft.nodes);
  draft.class_names = parts.class_names;
  draft.splits = splits_of(parts, draft.nodes);
  Dataset data = finish(std::move(draft), edge_options(parts.edge_flags));
  data.name = parts.name;
  return data;
}

}  // namespace spex
