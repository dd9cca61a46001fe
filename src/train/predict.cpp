#include <spex/core/error.h>
#include <spex/core/files.h>
#include <spex/core/json_list.h>
#include <spex/core/log.h>
#include <spex/data/generators.h>
#include <spex/data/reader.h>
#include <spex/train/checkpoint.h>
#include <spex/train/predict.h>
#include <spex/train/run.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace spex {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBatch = 1000;
constexpr size_t kWholeUpTo = 200'000;  // nodes

void copy_rows(MatrixView out, ConstMatrixView in, std::span<const NodeId> rows) {
  for (size_t i = 0; i < rows.size(); ++i) copy(out.block(i, 1), in.block(rows[i], 1));
}

Matrix full_graph_logits(Network& network, const Features& features, const AttentionGraph& graph,
                         const AttentionGraph& transposed, std::span<const NodeId> nodes) {
  Tape tape(false);
  Var all = network.forward(tape, whole_input(features), full_attention(graph, transposed), {});
  Matrix logits(nodes.size(), all.cols(), MemoryTag::activations);
  copy_rows(logits, all.value(), nodes);
  return logits;
}

size_t metadata_number(const SavedNetwork& saved, const std::string& key) {
  auto found = saved.metadata.find(key);
  require(found != saved.metadata.end(), "the saved network does not say its {}", key);
  return std::stoul(found->second);
}

// What a prediction runs on: the run's own graph and scores, mapped, or those of another data set.
struct Ground {
  Dataset data;
  AttentionGraph graph, transposed;
  Scores scores;
  const Scores* scores_or_null() const { return scores.layers.empty() ? nullptr : &scores; }
};

Ground own_ground(const RunFiles& files, const Config& config) {
  Ground ground;
  ReadOptions trusting;
  trusting.validate = false;  // only the rows of nodes that are asked for are read
  ground.data =
      is_generator(config.data) ? generate(config.data) : read_dataset(config.data, trusting);
  SavedGraph saved = load_attention_graph(files.attention());
  ground.graph = std::move(saved.graph);
  size_t nodes = ground.graph.nodes() - ground.graph.virtual_nodes;
  require(nodes == ground.data.nodes(), "{} has {} nodes, but the run was trained on {}",
          config.data, ground.data.nodes(), nodes);
  if (config.model == Model::exphormer) ground.transposed = transpose(ground.graph);
  if (fs::exists(files.scores()))
    ground.scores = load_scores(files.scores(), ground.graph, saved.fingerprint);
  return ground;
}

Ground new_ground(const RunFiles& files, const Config& config, const std::string& path) {
  Ground ground;
  ground.data = open_data(path);
  AugmentedGraph augmented = make_attention_graph(ground.data.graph, config);
  ground.graph = std::move(augmented.graph);
  ground.transposed = std::move(augmented.transposed);
  if (config.model == Model::exphormer || !fs::exists(files.scores())) return ground;
  require(fs::exists(files.estimator()),
          "{} was trained on scores from a file and has no estimator to run on {}",
          files.folder.string(), path);
  SavedNetwork saved = load_network(files.estimator());
  size_t inputs = metadata_number(saved, "inputs");
  require(feature_count(ground.data.features) == inputs,
          "{} has {} features, but the run was trained with {}", path,
          feature_count(ground.data.features), inputs);
  Network estimator(
      estimator_options(config, inputs, metadata_number(saved, "outputs"), ground.graph), 0);
  load_state(estimator, saved.state);
  ground.scores = estimate_scores(estimator, ground.graph, ground.transposed, ground.data.features,
                                  std::stof(saved.metadata.at("temperature")));
  return ground;
}

void check_nodes(std::span<const NodeId> nodes, size_t count) {
  for (NodeId node : nodes)
    require(node < count, "there is no node {}: ids go from 0 to {}", node, count - 1);
  std::vector<NodeId> sorted(nodes.begin(), nodes.end());
  std::sort(sorted.begin(), sorted.end());
  auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) fail("node {} is asked for twice", *twice);
}

Meaning meaning_of(const SavedNetwork& saved) {
  Meaning meaning;
  meaning.task = static_cast<Task>(metadata_number(saved, "task"));
  auto names = parse_json_list(saved.metadata.at("class_names"));
  require(names.has_value(), "the saved network's class names are damaged");
  meaning.class_names = *std::move(names);
  return meaning;
}

}  // namespace

Matrix predict_logits(Network& network, const Features& features, const AttentionGraph& graph,
                      const AttentionGraph& transposed, const Scores* scores, const Config& config,
                      size_t seed, size_t epoch, std::span<const NodeId> nodes, size_t batch) {
  if (config.model == Model::exphormer)
    return full_graph_logits(network, features, graph, transposed, nodes);
  if (batch == 0) batch = graph.nodes() <= kWholeUpTo ? nodes.size() : kBatch;
  SampledNeighbourhoods sampled(graph, scores, config.final, seed);
  auto sample = static_cast<uint32_t>(epoch / std::max<size_t>(1, config.final.resample_every));
  Matrix logits(nodes.size(), network.options().outputs, MemoryTag::activations);
  for (size_t begin = 0; begin < nodes.size(); begin += batch) {
    size_t count = std::min(batch, nodes.size() - begin);
    Batch part = sampled.builder().build(nodes.subspan(begin, count), sample);
    BatchFeatures rows(features, part.nodes);
    Tape tape(false);
    Var out = network.forward(tape, rows.input(), sampled_attention(part.layers), {});
    copy(logits.view().block(begin, count), out.value());
  }
  return logits;
}

Meaning meaning_of(const Dataset& data) {
  Meaning meaning{data.labels.task, data.class_names};
  for (size_t c = meaning.class_names.size(); c < data.labels.outputs; ++c)
    meaning.class_names.push_back(fmt::format("{}", c));
  return meaning;
}

Matrix to_probabilities(ConstMatrixView logits, const Meaning& meaning) {
  size_t columns = meaning.class_names.size();
  bool one_logit = meaning.task == Task::classes && columns == 2;
  require(logits.cols == (one_logit ? 1 : columns),
          "{} outputs of the network do not fit {} classes", logits.cols, columns);
  Matrix out(logits.rows, columns, MemoryTag::activations);
  for (size_t r = 0; r < logits.rows; ++r) {
    const float* row = logits.row(r);
    float* to = out.view().row(r);
    if (meaning.task == Task::regression) {
      std::copy_n(row, columns, to);
    } else if (meaning.task == Task::binary_labels) {
      for (size_t c = 0; c < columns; ++c) to[c] = 1.0F / (1.0F + std::exp(-row[c]));
    } else if (one_logit) {
      to[1] = 1.0F / (1.0F + std::exp(-row[0]));
      to[0] = 1.0F - to[1];
    } else {
      float largest = *std::max_element(row, row + columns);
      float sum = 0.0F;
      for (size_t c = 0; c < columns; ++c) sum += to[c] = std::exp(row[c] - largest);
      for (size_t c = 0; c < columns; ++c) to[c] /= sum;
    }
  }
  return out;
}

Predictions predict(const PredictOptions& options) {
  RunFiles files{options.run};
  require(fs::exists(files.model()), "{} holds no finished run (there is no model.safetensors)",
          options.run.string());
  Config config;
  apply_toml(config, read_text(files.config()), files.config().string());
  SavedNetwork saved = load_network(files.model());
  Ground ground =
      options.data.empty() ? own_ground(files, config) : new_ground(files, config, options.data);
  Network network(final_options(config, metadata_number(saved, "inputs"),
                                metadata_number(saved, "outputs"), ground.graph),
                  0);
  require(feature_count(ground.data.features) == network.options().inputs,
          "the data has {} features, but the run was trained with {}",
          feature_count(ground.data.features), network.options().inputs);
  load_state(network, saved.state);
  Predictions result;
  result.meaning = meaning_of(saved);
  result.nodes = options.nodes;
  if (result.nodes.empty()) {
    result.nodes.resize(ground.data.nodes());
    std::iota(result.nodes.begin(), result.nodes.end(), 0U);
  }
  check_nodes(result.nodes, ground.data.nodes());
  size_t samples = std::max<size_t>(1, options.samples);
  result.values =
      Matrix::zeros(result.nodes.size(), result.meaning.class_names.size(), MemoryTag::activations);
  for (size_t s = 0; s < samples; ++s) {
    size_t epoch =
        metadata_number(saved, "best_epoch") + s * std::max<size_t>(1, config.final.resample_every);
    Matrix logits = predict_logits(network, ground.data.features, ground.graph, ground.transposed,
                                   ground.scores_or_null(), config, metadata_number(saved, "seed"),
                                   epoch, result.nodes, options.batch);
    add(result.values, to_probabilities(logits, result.meaning));
  }
  for (float& value : result.values.span()) value /= static_cast<float>(samples);
  return result;
}

namespace {

// A field of a CSV line, quoted where it must be.
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

void write_csv(std::ostream& out, const Predictions& p) {
  bool classes = p.meaning.task == Task::classes;
  out << "node" << (classes ? ",prediction" : "");
  for (const std::string& name : p.meaning.class_names)
    out << ',' << csv_field((p.meaning.task == Task::regression ? "value_" : "p_") + name);
  out << '\n';
  for (size_t i = 0; i < p.nodes.size(); ++i) {
    ConstMatrixView row = p.values.view().block(i, 1);
    out << p.nodes[i];
    if (classes)
      out << ','
          << csv_field(p.meaning.class_names[static_cast<size_t>(
                 std::max_element(row.data, row.data + row.cols) - row.data)]);
    for (size_t c = 0; c < row.cols; ++c) out << ',' << fmt::format("{:.6g}", row(0, c));
    out << '\n';
  }
}

}  // namespace spex
