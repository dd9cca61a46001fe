#include <fmt/format.h>
#include <spex/core/error.h>
#include <spex/core/log.h>
#include <spex/core/memory.h>
#include <spex/core/stopwatch.h>
#include <spex/data/generators.h>
#include <spex/data/reader.h>
#include <spex/data/splits.h>
#include <spex/graph/expander.h>
#include <spex/train/problem.h>

#include <algorithm>
#include <filesystem>

namespace spex {
namespace {

constexpr size_t kLargeGraph = 200'000;  // nodes; above, batches and fewer layers

// Nodes without a class can be neither learned from nor judged.
SharedArray<NodeId> labelled(const SharedArray<NodeId>& part, const Labels& labels) {
  if (labels.task != Task::classes) return part;
  auto known = [&](NodeId node) { return labels.classes[node] >= 0; };
  auto count = static_cast<size_t>(std::count_if(part.begin(), part.end(), known));
  if (count == part.size()) return part;
  Buffer<NodeId> kept(count, MemoryTag::other);
  std::copy_if(part.begin(), part.end(), kept.begin(), known);
  log("{} nodes of the split have no label and are left out", part.size() - count);
  return kept;
}

void check_split(const Split& split) {
  require(!split.train.empty(), "the split has no training nodes");
  require(
      !split.validation.empty(),
      "the split has no validation nodes, which the best epoch is chosen by; give a ratio such as "
      "--set split.ratio=50/25/25");
}

std::string nearest_generator(const std::string& word) {
  std::vector<std::string> names;
  for (const GeneratorInfo& info : generators()) names.emplace_back(info.name);
  return nearest_word(word, names);
}

}  // namespace

Dataset open_data(const std::string& data) {
  if (is_generator(data)) return generate(data);
  std::string nearest = std::filesystem::exists(data) ? "" : nearest_generator(data);
  require(nearest.empty(), "{} does not exist; did you mean the generator {}?", data, nearest);
  return read_dataset(data);
}

Split choose_split(const Dataset& data, const DataConfig& config) {
  require(config.ratio.empty() || config.counts.empty(),
          "split.ratio and split.counts exclude each other");
  bool random = !config.ratio.empty() || data.splits.empty();
  Split split =
      !config.counts.empty()
          ? per_class_split(data.labels, parse_counts(config.counts), config.split_seed)
      : random
          ? random_split(data.labels, parse_ratio(config.ratio.empty() ? "60/20/20" : config.ratio),
                         config.split_seed)
          : stored_split(data, config.split);
  split = {labelled(split.train, data.labels), labelled(split.validation, data.labels),
           labelled(split.test, data.labels)};
  check_split(split);
  return split;
}

AugmentedGraph make_attention_graph(const CsrGraph& graph, const Config& config) {
  ExpanderOptions options;
  options.degree = config.expander.degree;
  options.seed = config.expander.seed;
  options.tries = static_cast<int>(config.expander.tries);
  Expander expander = make_expander(graph.nodes(), options);
  AugmentOptions augmentation;
  augmentation.virtual_nodes = config.model == Model::exphormer ? config.final.virtual_nodes : 0;
  AugmentedGraph result;
  result.graph = augment(graph, expander.graph, augmentation);
  result.spectral_gap = expander.checked ? expander.spectral_gap : 0.0;
  result.required_gap = expander.required_gap;
  expander = {};  // before the transpose needs room
  result.transposed = transpose(result.graph);
  return result;
}

Problem make_problem(Dataset data, const Config& config) {
  Problem problem;
  problem.split = choose_split(data, config.split);
  Stopwatch watch;
  AugmentedGraph augmented = make_attention_graph(data.graph, config);
  problem.graph = std::move(augmented.graph);
  problem.transposed = std::move(augmented.transposed);
  problem.spectral_gap = augmented.spectral_gap;
  problem.required_gap = augmented.required_gap;
  problem.fingerprint = fingerprint(problem.graph);
  problem.graph_seconds = watch.seconds();
  problem.data = std::move(data);
  trim_memory();  // what building the graph needed is not needed again
  return problem;
}

Config default_config(const Dataset& data) {
  Config config;
  FinalConfig& final = config.final;
  bool large = data.nodes() > kLargeGraph;
  final.degrees = large ? std::vector<size_t>{10, 10} : std::vector<size_t>{10, 5, 5, 5};
  final.width = large ? 128 : 64;
  final.heads = large ? 1 : 2;
  final.batch_size = large ? 1000 : 0;
  final.dropout = large ? 0.2 : 0.3;
  final.optimiser.learning_rate = large ? 0.001 : 0.01;
  config.estimator.width = large ? 8 : 4;
  log("no preset: {} layers sampling {} neighbours, width {}, {} heads, {}; expander degree {}",
      final.degrees.size(), fmt::join(final.degrees, "/"), final.width, final.heads,
      large ? fmt::format("batches of {}", final.batch_size)
            : std::string("the whole graph at once"),
      config.expander.degree);
  return config;
}

}  // namespace spex
