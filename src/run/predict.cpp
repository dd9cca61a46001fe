#include <spex/core/error.h>
#include <spex/core/files.h>
#include <spex/core/text.h>
#include <spex/data/fingerprint.h>
#include <spex/data/generators.h>
#include <spex/data/reader.h>
#include <spex/graph/attention_file.h>
#include <spex/run/phases.h>
#include <spex/run/predict.h>
#include <spex/run/run.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace spex {
namespace {

namespace fs = std::filesystem;

// The data set as the model knows it.
Dataset prepared_for(const SavedModel& model, Dataset data, const std::string& path) {
  require(model.shape.edge_features == 0 || model.shape.edge_features == data.edge_feature_count,
          "the edges of {} have {} features, but the run was trained with {}", path,
          data.edge_feature_count, model.shape.edge_features);
  return prepare_as(model.preparation, std::move(data));
}

void check_same_data(const Dataset& data, const RunFiles& files, const std::string& path) {
  uint64_t trained = read_data_fingerprint(files);
  require(trained == 0 || trained == fingerprint(data),
          "{} is not what {} was trained on: edges, features or labels have changed; --data {} "
          "predicts on it as on a new data set",
          path, files.folder.string(), path);
}

Dataset own_data(const Config& config) {
  if (is_generator(config.data)) return generate(config.data);
  ReadOptions trusting;
  trusting.validate = false;  // only the rows of nodes that are asked for are read
  return read_dataset(config.data, trusting);
}

// The run's own graph and scores, mapped.
Ground own_ground(const RunFiles& files, const Config& config, const SavedModel& model,
                  Dataset data) {
  require(model.shape.nodes == data.nodes(), "{} has {} nodes, but the run was trained on {}",
          config.data, data.nodes(), model.shape.nodes);
  check_same_data(data, files, config.data);
  data = prepared_for(model, std::move(data), config.data);
  Needs needs = needs_of(config);
  if (!needs.attention) return make_ground(std::move(data), config);
  Ground ground;
  SavedGraph saved = load_attention_graph(files.attention());
  ground.attention = std::move(saved.graph);
  if (needs.edge_features) use_edge_features(ground.attention, data);
  if (needs.batching == Batching::none) ground.transposed = transpose(ground.attention);
  if (needs.local) ground.local = local_graph(data.graph);
  if (needs.scores)
    ground.scores = load_scores(files.scores(), ground.attention, saved.fingerprint);
  add_hops(data, needs);
  ground.data = std::move(data);
  return ground;
}

// Another data set: the scores are those that the run's estimator gives it.
Ground new_ground(const RunFiles& files, const Config& config, const SavedModel& saved,
                  Dataset data) {
  std::string source = data.source;
  require(!needs_of(config).own_nodes && !saved.preparation.has_embedding(),
          "{} has learned something for each node of the graph it was trained on, and cannot "
          "predict on {}",
          config.model, source);
  Ground ground = make_ground(prepared_for(saved, std::move(data), source), config);
  if (!config.final().model->needs().scores) return ground;
  fs::path file = files.phase(config.phases.front().name);
  require(fs::exists(file),
          "{} was trained on scores from a file and has no estimator to run on {}",
          files.folder.string(), source);
  SavedModel estimator = load_model(file);
  std::unique_ptr<Model> model = estimator.make();
  ground.scores = attention_scores(*model, estimator.phase, ground, estimator.temperature);
  return ground;
}

// The nodes that are asked for, by number and by key; all where none is.
std::vector<NodeId> nodes_of(const PredictOptions& options, const Dataset& data) {
  std::vector<NodeId> nodes = options.nodes;
  if (!options.keys.empty()) {
    KeyIndex index(data.keys, data.nodes());
    for (const std::string& key : options.keys) nodes.push_back(index.find(key));
  }
  if (nodes.empty()) {
    nodes.resize(data.nodes());
    std::iota(nodes.begin(), nodes.end(), 0U);
  }
  check_nodes(nodes, data.nodes());
  return nodes;
}

Predictor open_model(const RunFiles& files) {
  require(fs::exists(files.model()), "{} holds no finished run (there is no model.safetensors)",
          files.folder.string());
  Predictor predictor{read_run_config(files), {}, {}};
  // What was stopped has not chosen yet what it averages.
  size_t members = fs::exists(files.summary()) ? predictor.config.members : 1;
  for (size_t m = 0; m < members; ++m) predictor.networks.push_back(open_network(files.model(m)));
  return predictor;
}

}  // namespace

void check_nodes(std::span<const NodeId> nodes, size_t count) {
  for (NodeId node : nodes)
    require(node < count, "there is no node {}: ids go from 0 to {}", node, count - 1);
  std::vector<NodeId> sorted(nodes.begin(), nodes.end());
  std::sort(sorted.begin(), sorted.end());
  auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) fail("node {} is asked for twice", *twice);
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
      to[0] = 1.0F / (1.0F + std::exp(row[0]));  // 1 - to[1] would be 0 where that rounds to 1
    } else {
      float largest = *std::max_element(row, row + columns);
      float sum = 0.0F;
      for (size_t c = 0; c < columns; ++c) sum += to[c] = std::exp(row[c] - largest);
      for (size_t c = 0; c < columns; ++c) to[c] /= sum;
    }
  }
  return out;
}

Predictor open_run(const fs::path& run, std::optional<Dataset> data) {
  RunFiles files{run};
  Predictor predictor = open_model(files);
  if (!data) data = own_data(predictor.config);
  predictor.ground = own_ground(files, predictor.config, predictor.saved(), *std::move(data));
  return predictor;
}

Predictor open_run_on(const fs::path& run, Dataset data) {
  RunFiles files{run};
  Predictor predictor = open_model(files);
  predictor.ground = new_ground(files, predictor.config, predictor.saved(), std::move(data));
  return predictor;
}

Matrix Predictor::logits(std::span<const NodeId> nodes, size_t batch, size_t sample) const {
  return logits_of(networks, ground, nodes, batch, sample);
}

Matrix Predictor::probabilities(std::span<const NodeId> nodes, size_t batch, size_t samples) const {
  require(samples > 0, "cannot average over 0 samples; 1 is the least");
  Matrix sum =
      Matrix::zeros(nodes.size(), saved().meaning.class_names.size(), MemoryTag::activations);
  for (size_t s = 0; s < samples; ++s)
    add(sum, to_probabilities(logits(nodes, batch, s), saved().meaning));
  for (float& value : sum.span()) value /= static_cast<float>(samples);
  unscale(sum, saved().preparation.targets);
  return sum;
}

Matrix Predictor::embeddings(std::span<const NodeId> nodes, size_t batch) const {
  const auto& [saved, model] = networks.front();
  Matrix values = predict_embeddings(saved.phase, *model, ground, saved.seed, saved.best_epoch,
                                     saved.temperature, nodes, batch);
  require(values.cols() > 0 || nodes.empty(),
          "{} has no layer of nodes before its outputs: there are no embeddings", config.model);
  return values;
}

Scores Predictor::attention() const {
  if (const Scores* scores = ground.scores_or_null()) return *scores;
  const auto& [saved, model] = networks.front();
  require(
      saved.phase.model->needs().attention,
      "{} has no attention over the graph to look at; spexphormer, exphormer and estimator have",
      config.model);
  for (const ConfigKey& key : config_keys(config))
    require(key.key != config.model + ".heads" || key.value == "1",
            "the attention of {} has {} heads, and scores are of one; train it with {}=1",
            config.model, key.value, key.key);
  return attention_scores(*model, saved.phase, ground, saved.temperature);
}

Predictions predict(const PredictOptions& options) {
  Predictor predictor = options.data.empty() ? open_run(options.run)
                                             : open_run_on(options.run, open_data(options.data));
  Predictions result;
  result.meaning = predictor.saved().meaning;
  result.nodes = nodes_of(options, predictor.ground.data);
  result.keys = predictor.ground.data.keys;
  result.values = predictor.probabilities(result.nodes, options.batch, options.samples);
  return result;
}

void write_csv(std::ostream& out, const Predictions& p) {
  bool classes = p.meaning.task == Task::classes;
  out << "node" << (classes ? ",prediction" : "");
  for (const std::string& name : p.meaning.class_names)
    out << ',' << csv_field((p.meaning.task == Task::regression ? "value_" : "p_") + name);
  out << '\n';
  for (size_t i = 0; i < p.nodes.size(); ++i) {
    ConstMatrixView row = p.values.view().block(i, 1);
    out << csv_field(p.keys.of(p.nodes[i]));
    if (classes)
      out << ','
          << csv_field(p.meaning.class_names[static_cast<size_t>(
                 std::max_element(row.data, row.data + row.cols) - row.data)]);
    // Six digits of a probability are enough; those of a target may all matter.
    for (size_t c = 0; c < row.cols; ++c)
      out << ','
          << (p.meaning.task == Task::regression ? fmt::format("{}", row(0, c))
                                                 : fmt::format("{:.6g}", row(0, c)));
    out << '\n';
  }
}

}  // namespace spex
