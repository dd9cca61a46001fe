#include <fmt/format.h>
#include <spex/core/error.h>
#include <spex/core/hash.h>
#include <spex/core/log.h>
#include <spex/core/memory.h>
#include <spex/core/stopwatch.h>
#include <spex/core/text.h>
#include <spex/data/generators.h>
#include <spex/data/reader.h>
#include <spex/data/splits.h>
#include <spex/data/structure.h>
#include <spex/graph/builder.h>
#include <spex/graph/expander.h>
#include <spex/run/problem.h>
#include <spex/sample/balls.h>
#include <spex/train/objective.h>

#include <algorithm>
#include <filesystem>

namespace spex {
namespace {

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

// Which of the phases use the edges' features.
void log_edge_features(const Dataset& data, const Config& config) {
  if (data.edge_feature_count == 0) return;
  std::vector<std::string> with, without;
  for (const Phase* phase : phases_to_train(config, false))
    (phase->model->needs().edge_features ? with : without).push_back(phase->name);
  if (!with.empty())
    log("features of edges: {}, used by {}", data.edge_feature_count, fmt::join(with, " and "));
  if (!without.empty())
    log("features of edges: {}, which {} cannot use", data.edge_feature_count,
        fmt::join(without, " and "));
}

AttentionGraph attention_graph(const CsrGraph& graph, const ExpanderConfig& config,
                               size_t virtual_nodes, Gaps* gaps) {
  ExpanderOptions options;
  options.degree = config.degree;
  options.seed = config.seed;
  options.tries = static_cast<int>(config.tries);
  Expander expander = make_expander(graph.nodes(), options);
  if (gaps) *gaps = {expander.checked ? expander.spectral_gap : 0.0, expander.required_gap};
  AugmentOptions augmentation;
  augmentation.virtual_nodes = virtual_nodes;
  return augment(graph, expander.graph, augmentation);
}

}  // namespace

Dataset open_data(const std::string& data) {
  if (is_generator(data)) return generate(data);
  std::string nearest = std::filesystem::exists(data) ? "" : nearest_generator(data);
  require(nearest.empty(), "{} does not exist; did you mean the generator {}?", data, nearest);
  try {
    return read_dataset(data);
  } catch (const Error& error) {  // readers name the options that help, and those are not here
    std::string_view said = error.what();
    bool names_options = said.find(" --") != std::string_view::npos;
    fail("{}{}", said,
         names_options ? " (options of spex data convert, whose file is trained on)" : "");
  }
}

Split choose_split(const Dataset& data, const SplitConfig& config) {
  require(config.ratio.empty() || config.counts.empty(),
          "split.ratio and split.counts exclude each other");
  bool random = !config.ratio.empty() || data.splits.empty();
  Split split =
      !config.counts.empty()
          ? per_class_split(data.labels, parse_counts(config.counts), config.seed)
      : random
          ? random_split(data.labels, parse_ratio(config.ratio.empty() ? "60/20/20" : config.ratio),
                         config.seed)
          : stored_split(data, config.index);
  split = {labelled(split.train, data.labels), labelled(split.validation, data.labels),
           labelled(split.test, data.labels)};
  check_split(split);
  return split;
}

Ground make_ground(Dataset data, const Config& config, Gaps* gaps) {
  Needs needs = needs_of(config);
  Ground ground;
  if (!needs.ball.empty()) {  // always drawn from: nobody walks it backwards
    ground.attention = draw_balls(local_graph(data.graph), needs.ball, config.expander.seed);
  } else if (needs.attention) {
    ground.attention = attention_graph(data.graph, config.expander, needs.virtual_nodes, gaps);
    if (needs.edge_features) use_edge_features(ground.attention, data);
    ground.transposed = transpose(ground.attention);
  }
  if (needs.local) ground.local = local_graph(data.graph);
  add_hops(data, needs);
  ground.data = std::move(data);
  trim_memory();  // what building the graphs needed is not needed again
  return ground;
}

void use_edge_features(AttentionGraph& attention, const Dataset& data) {
  if (data.edge_feature_count > 0)
    add_edge_features(attention, data.graph, data.edge_features, data.edge_feature_count);
}

uint64_t run_fingerprint(const AttentionGraph& graph, uint64_t data) {
  return hash_word(fingerprint(graph), data);
}

AttentionGraph local_graph(const CsrGraph& graph) {
  if (graph.symmetric) return augment(graph, {});
  Buffer<NodeId> sources(graph.edges(), MemoryTag::graph);
  for (size_t i = 0; i < graph.nodes(); ++i)
    std::fill(sources.begin() + graph.offsets[i], sources.begin() + graph.offsets[i + 1],
              static_cast<NodeId>(i));
  return augment(build_csr(graph.nodes(), sources.span(), graph.neighbours.span()).graph, {});
}

void add_hops(Dataset& data, const Needs& needs) {
  if (needs.hops == 0) return;
  bool sparse = std::holds_alternative<SparseMatrix>(data.features);
  LaplacianFeatures extra;
  if (needs.eigenvectors > 0)
    extra = laplacian_features(data.graph, {.vectors = needs.eigenvectors});
  data.features = hop_features(data.features, extra.values, local_graph(data.graph), needs.hops);
  const auto& made = std::get<DenseFeatures>(data.features);
  log("the features{} and their averages over up to {} hops{}: {} numbers per node, {}",
      needs.eigenvectors ? fmt::format(", {} eigenvectors", needs.eigenvectors) : std::string(),
      needs.hops, sparse ? ", sparse before and dense now" : "", made.cols,
      format_size(made.values.size() * sizeof(float)));
}

Problem make_problem(Dataset data, const Config& config) {
  return make_problem(prepare(std::move(data), config.features), config);
}

Problem make_problem(PreparedData prepared, const Config& config) {
  Problem problem;
  log_edge_features(prepared.data, config);
  problem.data_fingerprint = prepared.fingerprint;
  problem.split = choose_split(prepared.data, config.split);
  problem.preparation = std::move(prepared.preparation);
  problem.preparation.targets =
      target_scaling(prepared.data.labels, problem.split, config.features);
  Stopwatch watch;
  Gaps gaps;
  static_cast<Ground&>(problem) = make_ground(std::move(prepared.data), config, &gaps);
  problem.spectral_gap = gaps.spectral;
  problem.required_gap = gaps.required;
  if (problem.attention.nodes() > 0)
    problem.fingerprint = run_fingerprint(problem.attention, problem.data_fingerprint);
  problem.graph_seconds = watch.seconds();
  return problem;
}

PlanInput plan_input(const Dataset& data, const Config& config) {
  Objective objective(data.labels, config.split.metric);
  PlanInput in;
  in.nodes = data.nodes();
  in.edges = data.graph.edges();
  in.features = feature_count(data.features);
  if (const auto* sparse = std::get_if<SparseMatrix>(&data.features))
    in.nonzeros = sparse->nonzeros();
  in.outputs = objective.outputs();
  in.train_nodes = choose_split(data, config.split).train.size();
  in.resident_bytes = memory_use().current;
  in.symmetric = data.graph.symmetric;
  in.edge_features = data.edge_feature_count;
  return in;
}

}  // namespace spex
