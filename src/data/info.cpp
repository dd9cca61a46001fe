#include <spex/core/threads.h>
#include <spex/data/info.h>

#include <algorithm>
#include <cmath>

namespace spex {
namespace {

constexpr size_t kInfoRows = size_t{1} << 13;
constexpr size_t kItems = size_t{1} << 18;

// What one walk over the edges counts.
struct EdgeCounts {
  size_t self_loops = 0, labelled = 0, same_class = 0;
  EdgeCounts& operator+=(const EdgeCounts& other) {
    self_loops += other.self_loops;
    labelled += other.labelled;
    same_class += other.same_class;
    return *this;
  }
};

void count_row(EdgeCounts& counts, const CsrGraph& graph, std::span<const int32_t> classes,
               size_t node) {
  for (NodeId neighbour : graph.row(node)) counts.self_loops += neighbour == node;
  if (classes.empty() || classes[node] < 0) return;
  size_t labelled = 0, same = 0;
  for (NodeId neighbour : graph.row(node)) {
    labelled += classes[neighbour] >= 0;
    same += classes[neighbour] == classes[node];
  }
  counts.labelled += labelled;
  counts.same_class += same;
}

void describe_edges(DatasetInfo& info, const Dataset& dataset) {
  const CsrGraph& graph = dataset.graph;
  EdgeCounts counts =
      parallel_sum(info.nodes, kInfoRows, EdgeCounts{}, [&](size_t begin, size_t end) {
        EdgeCounts part;
        for (size_t node = begin; node < end; ++node)
          count_row(part, graph, dataset.labels.classes.span(), node);
        return part;
      });
  info.self_loops = counts.self_loops;
  info.homophily_edges = counts.labelled;
  if (counts.labelled > 0)
    info.edge_homophily =
        static_cast<double>(counts.same_class) / static_cast<double>(counts.labelled);
}

// Quantiles from a histogram: degrees are many, distinct degrees are few.
void describe_degrees(DatasetInfo& info, const CsrGraph& graph) {
  for (size_t i = 0; i < info.nodes; ++i)
    info.max_degree = std::max(info.max_degree, graph.degree(i));
  std::vector<size_t> histogram(info.max_degree + 1);
  for (size_t i = 0; i < info.nodes; ++i) ++histogram[graph.degree(i)];
  info.isolated_nodes = histogram[0];
  info.mean_degree = static_cast<double>(info.edges) / static_cast<double>(info.nodes);
  auto quantile = [&](double share) {
    auto rank = static_cast<size_t>(share * static_cast<double>(info.nodes - 1));
    size_t degree = 0;
    for (size_t seen = histogram[0]; seen <= rank; seen += histogram[degree]) ++degree;
    return degree;
  };
  info.median_degree = quantile(0.5);
  info.degree_90 = quantile(0.9);
  info.degree_99 = quantile(0.99);
}

void describe_features(DatasetInfo& info, const DenseFeatures& features) {
  const float* values = features.values.data();
  size_t nonzeros =
      parallel_sum(features.values.size(), kItems, size_t{0}, [=](size_t b, size_t e) {
        size_t count = 0;
        for (size_t i = b; i < e; ++i) count += values[i] != 0.0F;
        return count;
      });
  if (!features.values.empty())
    info.feature_density =
        static_cast<double>(nonzeros) / static_cast<double>(features.values.size());
  info.feature_bytes = features.values.span().size_bytes();
}

void describe_features(DatasetInfo& info, const SparseMatrix& features) {
  info.sparse_features = true;
  double cells = static_cast<double>(features.rows) * static_cast<double>(features.cols);
  if (cells > 0) info.feature_density = static_cast<double>(features.nonzeros()) / cells;
  info.feature_bytes = features.offsets.span().size_bytes() + features.columns.span().size_bytes() +
                       features.values.span().size_bytes();
}

void describe_classes(DatasetInfo& info, const Dataset& dataset) {
  std::vector<size_t> counts(dataset.labels.outputs);
  for (int32_t label : dataset.labels.classes)
    if (label >= 0) ++counts[static_cast<size_t>(label)];
  for (size_t count : counts) info.labelled_nodes += count;
  for (size_t c = 0; c < counts.size(); ++c) {
    double share = static_cast<double>(counts[c]) /
                   static_cast<double>(std::max<size_t>(1, info.labelled_nodes));
    std::string name = c < dataset.class_names.size() ? dataset.class_names[c] : std::to_string(c);
    info.classes.push_back({std::move(name), counts[c], share});
  }
}

void count_labelled(DatasetInfo& info, const Labels& labels) {
  for (size_t begin = 0; begin < labels.values.size(); begin += labels.outputs) {
    auto row = labels.values.span().subspan(begin, labels.outputs);
    info.labelled_nodes +=
        std::any_of(row.begin(), row.end(), [](float v) { return !std::isnan(v); });
  }
}

}  // namespace

DatasetInfo describe(const Dataset& dataset) {
  DatasetInfo info;
  info.name = dataset.name;
  info.source = dataset.source;
  info.synthetic = dataset.synthetic;
  info.symmetric = dataset.graph.symmetric;
  info.nodes = dataset.nodes();
  info.edges = dataset.graph.edges();
  info.cleaning = dataset.cleaning;
  info.features = feature_count(dataset.features);
  info.task = dataset.labels.task;
  info.outputs = dataset.labels.outputs;
  info.edge_feature_count = dataset.edge_feature_count;
  if (info.nodes == 0) return info;
  if (!dataset.keys.empty()) {
    info.first_key = dataset.keys.of(0);
    info.last_key = dataset.keys.of(static_cast<NodeId>(info.nodes - 1));
  }
  describe_degrees(info, dataset.graph);
  describe_edges(info, dataset);
  std::visit([&](const auto& features) { describe_features(info, features); }, dataset.features);
  if (info.outputs > 0 && info.task == Task::classes)
    describe_classes(info, dataset);
  else if (info.outputs > 0)
    count_labelled(info, dataset.labels);
  for (const Split& split : dataset.splits) {
    info.splits.push_back({split.train.size(), split.validation.size(), split.test.size()});
    info.other_bytes += split.train.span().size_bytes() + split.validation.span().size_bytes() +
                        split.test.span().size_bytes();
  }
  info.graph_bytes =
      dataset.graph.offsets.span().size_bytes() + dataset.graph.neighbours.span().size_bytes();
  info.label_bytes =
      dataset.labels.classes.span().size_bytes() + dataset.labels.values.span().size_bytes();
  info.other_bytes += dataset.edge_features.span().size_bytes() +
                      dataset.keys.numbers.span().size_bytes() +
                      dataset.keys.offsets.span().size_bytes() + dataset.keys.text.size();
  return info;
}

}  // namespace spex
