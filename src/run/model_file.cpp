#include <spex/core/error.h>
#include <spex/core/json_list.h>
#include <spex/core/safetensors.h>
#include <spex/core/text.h>
#include <spex/run/model_file.h>

#include <algorithm>

#include "run/state_tensors.h"

namespace spex {
namespace {

constexpr const char* kModelFormat = "spex-model-3";
constexpr std::string_view kEarlierFormats[] = {"spex-network-1", "spex-model-2"};

// The metadata of a file, each by its name.
struct Fields {
  const Safetensors& file;

  const std::string& text(const std::string& key) const {
    auto found = file.metadata().find(key);
    require(found != file.metadata().end(), "{} lacks {}", file.path().string(), key);
    return found->second;
  }
  size_t count(const std::string& key) const { return parse_count(text(key), place(key)); }
  double real(const std::string& key) const { return parse_real(text(key), place(key)); }
  std::string place(const std::string& key) const {
    return fmt::format("{}: {}", file.path().string(), key);
  }
};

Meaning meaning_of(const Fields& fields) {
  Meaning meaning;
  size_t task = fields.count("task");
  auto names = parse_json_list(fields.text("class_names"));
  require(task <= static_cast<size_t>(Task::regression) && names.has_value(),
          "{}: task and class_names do not say what the outputs mean", fields.file.path().string());
  meaning.task = static_cast<Task>(task);
  meaning.class_names = *std::move(names);
  return meaning;
}

// The numbers of a preparation are tensors, each with its place; empty ones are left out.
void list_numbers(auto& preparation, auto&& use_as) {
  auto use = [&](const char* name, auto& values) {
    use_as(std::string(kPreparationPrefix) + name, values);
  };
  use("features.mean", preparation.features.mean);
  use("features.scale", preparation.features.scale);
  use("structure.mean", preparation.made.mean);
  use("structure.scale", preparation.made.scale);
  use("edges.mean", preparation.edges.mean);
  use("edges.scale", preparation.edges.scale);
  use("targets.mean", preparation.targets.mean);
  use("targets.scale", preparation.targets.scale);
}

Preparation preparation_of(const Fields& fields) {
  Preparation preparation;
  preparation.given = fields.count("features");
  preparation.structure = fields.text("structure");
  list_numbers(preparation, [&](const std::string& name, std::vector<double>& values) {
    if (!fields.file.contains(name)) return;
    auto stored = fields.file.array<double>(name);
    values.assign(stored.begin(), stored.end());
  });
  for (const ColumnScaling* each :
       {&preparation.features, &preparation.made, &preparation.edges, &preparation.targets})
    require(each->mean.empty() || each->mean.size() == each->scale.size(),
            "{}: {} means do not fit {} scales", fields.file.path().string(), each->mean.size(),
            each->scale.size());
  return preparation;
}

}  // namespace

Meaning meaning_of(const Dataset& data) {
  Meaning meaning{data.labels.task, data.class_names};
  for (size_t c = meaning.class_names.size(); c < data.labels.outputs; ++c)
    meaning.class_names.push_back(fmt::format("{}", c));
  return meaning;
}

std::unique_ptr<Model> SavedModel::make() const {
  std::unique_ptr<Model> model = phase.model->make(shape, seed);
  load_state(*model, state);
  return model;
}

void save_model(const std::filesystem::path& path, const SavedModel& saved) {
  std::vector<TensorSource> tensors;
  add_tensors(tensors, "", saved.state);
  list_numbers(saved.preparation, [&](const std::string& name, const std::vector<double>& values) {
    if (!values.empty())
      tensors.push_back(tensor<double>(name, std::span<const double>(values), {values.size()}));
  });
  auto text = [](auto value) { return fmt::format("{}", value); };
  write_safetensors(path, tensors,
                    {{"format", kModelFormat},
                     {"model", saved.phase.name},
                     {"settings", to_toml(saved.phase)},
                     {"features", text(saved.preparation.given)},
                     {"structure", saved.preparation.structure},
                     {"inputs", text(saved.shape.inputs)},
                     {"outputs", text(saved.shape.outputs)},
                     {"edge_types", text(saved.shape.edge_types)},
                     {"nodes", text(saved.shape.nodes)},
                     {"edge_features", text(saved.shape.edge_features)},
                     {"seed", text(saved.seed)},
                     {"best_epoch", text(saved.best_epoch)},
                     {"validation", text(saved.validation)},
                     {"temperature", text(saved.temperature)},
                     {"task", text(static_cast<size_t>(saved.meaning.task))},
                     {"class_names", to_json_list(saved.meaning.class_names)}});
}

SavedModel load_model(const std::filesystem::path& path) {
  auto file = Safetensors::open(path);
  Fields fields{file};
  auto format = file.metadata().find("format");
  std::string found = format == file.metadata().end() ? std::string() : format->second;
  require(std::find(std::begin(kEarlierFormats), std::end(kEarlierFormats), found) ==
              std::end(kEarlierFormats),
          "{} was written by an earlier version of spex; train again with this one, or use that "
          "version",
          path.string());
  require(found == kModelFormat, "{} is not a model that spex wrote", path.string());
  SavedModel saved;
  saved.phase = parse_phase(fields.text("model"), fields.text("settings"), path.string());
  saved.shape = {fields.count("inputs"), fields.count("outputs"), fields.count("edge_types"),
                 fields.count("nodes"), fields.count("edge_features")};
  saved.meaning = meaning_of(fields);
  saved.preparation = preparation_of(fields);
  saved.seed = fields.count("seed");
  saved.best_epoch = fields.count("best_epoch");
  saved.validation = fields.real("validation");
  saved.temperature = static_cast<float>(fields.real("temperature"));
  saved.state = read_tensors(file, "");
  return saved;
}

}  // namespace spex
