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

// The run's own graph and scores, mapped.
Ground own_ground(const RunFiles& files, const Config& config, const SavedModel& model) {
  ReadOptions trusting;
  trusting.validate = false;  // only the rows of nodes that are asked for are read
  Dataset data =
      is_generator(config.data) ? generate(config.data) : read_dataset(config.data, trusting);
  require(model.shape.nodes == data.nodes(), "{} has {} nodes, but the run was trained on {}",
          config.data, data.nodes(), model.shape.nodes);
  check_same_data(data, files, config.data);
  data = prepared_for(model, std::move(data), config.data);
  Needs needs = config.final().model->needs();
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
                  const std::string& path) {
  require(!config.final().model->needs().own_nodes && !saved.preparation.has_embedding(),
          "{} has learned something for each node of the graph it was trained on, and cannot "
          "predict on {}",
          config.model, path);
  Ground ground = make_ground(prepared_for(saved, open_data(path), path), config);
  if (!config.final().model->needs().scores) return ground;
  fs::path file = files.phase(config.phases.front().name);
  require(fs::exists(file),
          "{} was trained on scores from a file and has no estimator to run on {}",
          files.folder.string(), path);
  SavedModel estimator = load_model(file);
  std::unique_ptr<Model> model = estimator.make();
  ground.scores = attention_scores(*model, estimator.phase, ground, estimator.temperature);
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

}  // namespace

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

Predictions predict(const PredictOptions& options) {
  RunFiles files{options.run};
  require(fs::exists(files.model()), "{} holds no finished run (there is no model.safetensors)",
          options.run.string());
  Config config = read_run_config(files);
  SavedModel saved = load_model(files.model());
  Ground ground = options.data.empty() ? own_ground(files, config, saved)
                                       : new_ground(files, config, saved, options.data);
  std::unique_ptr<Model> model = saved.make();
  Predictions result;
  result.meaning = saved.meaning;
  result.nodes = nodes_of(options, ground.data);
  result.keys = ground.data.keys;
  size_t samples = options.samples;
  require(samples > 0, "cannot average over 0 samples; 1 is the least");
  size_t apart = saved.phase.model->needs().sampling.resample_every;
  result.values =
      Matrix::zeros(result.nodes.size(), result.meaning.class_names.size(), MemoryTag::activations);
  for (size_t s = 0; s < samples; ++s) {
    Matrix logits =
        predict_logits(saved.phase, *model, ground, saved.seed, saved.best_epoch + s * apart,
                       saved.temperature, result.nodes, options.batch);
    add(result.values, to_probabilities(logits, result.meaning));
  }
  for (float& value : result.values.span()) value /= static_cast<float>(samples);
  unscale(result.values, saved.preparation.targets);
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
