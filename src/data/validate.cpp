#include <spex/core/error.h>
#include <spex/core/threads.h>
#include <spex/data/validate.h>

#include <cmath>
#include <limits>

namespace spex {
namespace {

constexpr size_t kCheckedItems = size_t{1} << 18;  // values per block of a parallel loop
constexpr size_t kCheckedRows = size_t{1} << 13;

// The first index in [0, count) that `bad` holds for, or count. Looks at whole blocks without
// branching, since almost always nothing is bad.
template <class Bad>
size_t find_bad(size_t count, Bad&& bad) {
  std::vector<size_t> first((count + kCheckedItems - 1) / kCheckedItems, count);
  parallel_for(count, kCheckedItems, [&](size_t begin, size_t end) {
    bool any = false;
    for (size_t i = begin; i < end; ++i) any |= bad(i);
    if (!any) return;
    while (!bad(begin)) ++begin;
    first[begin / kCheckedItems] = begin;
  });
  for (size_t index : first)
    if (index < count) return index;
  return count;
}

void check_offsets(std::span<const uint64_t> offsets, size_t items, const char* what,
                   const std::string& source) {
  require(!offsets.empty() && offsets.front() == 0 && offsets.back() == items,
          "{}: the row offsets of its {} do not run from 0 to {}", source, what, items);
  size_t rows = offsets.size() - 1;
  size_t row = find_bad(rows, [&](size_t i) { return offsets[i] > offsets[i + 1]; });
  require(row == rows, "{}: the row offsets of its {} fall at row {}", source, what, row);
}

uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 31)) * 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 29)) * 0xbf58476d1ce4e5b9U;
  return x ^ (x >> 32);
}

// The sum of a hash of (u, v) less the hash of (v, u) over all edges is zero when each edge has its
// twin, and almost surely not when one lacks it. It needs no search.
bool is_symmetric(const CsrGraph& graph) {
  return 0 == parallel_sum(graph.nodes(), kCheckedRows, uint64_t{0}, [&](size_t begin, size_t end) {
           uint64_t sum = 0;
           for (uint64_t u = begin; u < end; ++u)
             for (uint64_t v : graph.row(u)) sum += mix(u << 32 | v) - mix(v << 32 | u);
           return sum;
         });
}

void check_graph(const CsrGraph& graph, const std::string& source) {
  size_t nodes = graph.nodes();
  require(nodes > 0 && nodes <= std::numeric_limits<NodeId>::max(), "{}: {} nodes", source, nodes);
  check_offsets(graph.offsets.span(), graph.edges(), "graph", source);
  const NodeId* neighbours = graph.neighbours.data();
  size_t edge = find_bad(graph.edges(), [=](size_t e) { return neighbours[e] >= nodes; });
  if (edge < graph.edges())
    fail("{}: edge {} leads to node {}, but nodes are 0 to {}", source, edge, neighbours[edge],
         nodes - 1);
  require(!graph.symmetric || is_symmetric(graph),
          "{}: the graph is marked symmetric, but an edge lacks its reverse", source);
}

void check_finite(const float* values, size_t count, const char* what, const std::string& source,
                  size_t cols) {
  size_t bad = find_bad(count, [=](size_t i) { return !std::isfinite(values[i]); });
  if (bad == count) return;
  if (cols == 0) fail("{}: {} {} is {}, expected a finite number", source, what, bad, values[bad]);
  fail("{}: {} {} of node {} is {}, expected a finite number", source, what, bad % cols, bad / cols,
       values[bad]);
}

void check_rows(size_t rows, size_t nodes, const char* what, const std::string& source) {
  require(rows == nodes, "{}: {} {} for {} nodes", source, rows, what, nodes);
}

void check(const DenseFeatures& features, size_t nodes, const std::string& source) {
  check_rows(features.rows, nodes, "rows of features", source);
  require(features.values.size() == features.rows * features.cols,
          "{}: {} feature values for {} x {}", source, features.values.size(), features.rows,
          features.cols);
  check_finite(features.values.data(), features.values.size(), "feature", source, features.cols);
}

void check(const SparseMatrix& features, size_t nodes, const std::string& source) {
  check_rows(features.rows, nodes, "rows of features", source);
  require(features.offsets.size() == nodes + 1 && features.values.size() == features.columns.size(),
          "{}: the parts of its sparse features differ in length", source);
  check_offsets(features.offsets.span(), features.nonzeros(), "features", source);
  parallel_for(nodes, kCheckedRows, [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      int64_t last = -1;
      for (uint64_t e = features.offsets[row]; e < features.offsets[row + 1]; ++e) {
        int64_t column = features.columns[e];
        require(column > last && column < static_cast<int64_t>(features.cols),
                "{}: feature column {} of node {} is out of order or not below {}", source, column,
                row, features.cols);
        last = column;
      }
    }
  });
  check_finite(features.values.data(), features.values.size(), "stored feature", source, 0);
}

// The first layer has a row of weights per feature: a file cannot ask for billions of them.
constexpr size_t kMaxFeatures = size_t{1} << 24;

void check_keys(const NodeKeys& keys, size_t nodes, const std::string& source) {
  if (keys.empty()) return;
  check_rows(keys.size(), nodes, "keys", source);
  if (keys.are_text()) check_offsets(keys.offsets.span(), keys.text.size(), "keys", source);
}

void check_labels(const Labels& labels, size_t nodes, const std::string& source) {
  if (labels.outputs == 0) return;  // a data set without labels can still be described
  if (labels.task == Task::classes) {
    check_rows(labels.classes.size(), nodes, "labels", source);
    auto outputs = static_cast<int64_t>(labels.outputs);
    const int32_t* classes = labels.classes.data();
    size_t bad =
        find_bad(nodes, [=](size_t i) { return classes[i] < -1 || classes[i] >= outputs; });
    if (bad < nodes)
      fail("{}: the label of node {} is {}, expected 0 to {}, or -1 for unknown", source, bad,
           classes[bad], outputs - 1);
    return;
  }
  require(
      labels.values.size() / labels.outputs == nodes && labels.values.size() % labels.outputs == 0,
      "{}: {} label values for {} nodes of {}", source, labels.values.size(), nodes,
      labels.outputs);
  const float* values = labels.values.data();
  bool binary = labels.task == Task::binary_labels;
  size_t bad = find_bad(labels.values.size(), [=](size_t i) {
    float v = values[i];
    return binary ? !(std::isnan(v) || v == 0.0F || v == 1.0F) : std::isinf(v);
  });
  if (bad < labels.values.size())
    fail("{}: label {} of node {} is {}, expected {}", source, bad % labels.outputs,
         bad / labels.outputs, values[bad],
         binary ? "0, 1, or NaN for missing" : "a finite number, or NaN for missing");
}

void check_part(std::span<const NodeId> part, const char* what, size_t split, size_t nodes,
                std::vector<bool>& taken, const std::string& source) {
  for (size_t i = 0; i < part.size(); ++i) {
    require(part[i] < nodes, "{}: the {} part of split {} names node {}, but nodes are 0 to {}",
            source, what, split, part[i], nodes - 1);
    require(i == 0 || part[i - 1] < part[i],
            "{}: the {} part of split {} does not ascend at node {}", source, what, split, part[i]);
    require(!taken[part[i]], "{}: split {} has node {} in its {} part and in another", source,
            split, part[i], what);
    taken[part[i]] = true;
  }
}

}  // namespace

void validate(const Dataset& dataset) {
  const std::string& source = dataset.source;
  check_graph(dataset.graph, source);
  size_t nodes = dataset.nodes();
  check_keys(dataset.keys, nodes, source);
  require(feature_count(dataset.features) <= kMaxFeatures, "{}: {} features, expected at most {}",
          source, feature_count(dataset.features), kMaxFeatures);
  std::visit([&](const auto& features) { check(features, nodes, source); }, dataset.features);
  check_labels(dataset.labels, nodes, source);
  require(dataset.class_names.empty() || dataset.class_names.size() == dataset.labels.outputs,
          "{}: {} class names for {} classes", source, dataset.class_names.size(),
          dataset.labels.outputs);
  parallel_blocks(dataset.splits.size(), [&](size_t s) {
    const Split& split = dataset.splits[s];
    require(!split.train.empty(), "{}: split {} has no training nodes", source, s);
    require(!split.validation.empty(), "{}: split {} has no validation nodes", source, s);
    std::vector<bool> taken(nodes);
    check_part(split.train.span(), "training", s, nodes, taken, source);
    check_part(split.validation.span(), "validation", s, nodes, taken, source);
    check_part(split.test.span(), "test", s, nodes, taken, source);
  });
  size_t expected = dataset.graph.edges() * dataset.edge_feature_count;
  require(dataset.edge_features.size() == expected, "{}: {} edge feature values, expected {}",
          source, dataset.edge_features.size(), expected);
  check_finite(dataset.edge_features.data(), expected, "edge feature", source, 0);
}

}  // namespace spex
