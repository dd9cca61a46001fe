// Data sets: opened, made from arrays, looked at.
#include <spex/data/info.h>
#include <spex/data/native.h>
#include <spex/data/reader.h>
#include <spex/run/problem.h>

#include "c_api/arrays.h"
#include "c_api/handles.h"

namespace spex::c_api {
namespace {

DatasetParts& parts_of(spex_dataset* dataset) {
  given(dataset, "the data set");
  require(dataset->parts != nullptr,
          "the data set {} is built: its parts cannot be changed any more", dataset->data.name);
  return *dataset->parts;
}

template <class T>
spex_array view(std::span<const T> values, spex_type type, size_t columns = 0) {
  bool table = columns > 0;
  size_t width = table ? columns : 1;
  auto row = static_cast<ptrdiff_t>(width * sizeof(T));
  return {values.data(),
          type,
          table ? 2 : 1,
          {values.size() / width, table ? columns : 0},
          {row, table ? static_cast<ptrdiff_t>(sizeof(T)) : 0}};
}

spex_array feature_part(const Features& features, spex_part part) {
  if (const auto* dense = std::get_if<DenseFeatures>(&features)) {
    if (part != SPEX_FEATURES) return {};
    auto width = static_cast<ptrdiff_t>(dense->cols * sizeof(float));
    return {
        dense->values.data(), SPEX_FLOAT32, 2, {dense->rows, dense->cols}, {width, sizeof(float)}};
  }
  const auto& sparse = std::get<SparseMatrix>(features);
  if (part == SPEX_FEATURE_OFFSETS) return view(sparse.offsets.span(), SPEX_UINT64);
  if (part == SPEX_FEATURE_COLUMNS) return view(sparse.columns.span(), SPEX_UINT32);
  if (part == SPEX_FEATURE_VALUES) return view(sparse.values.span(), SPEX_FLOAT32);
  return {};
}

spex_array label_part(const Labels& labels) {
  if (labels.outputs == 0) return {};
  if (labels.task == Task::classes) return view(labels.classes.span(), SPEX_INT32);
  return view(labels.values.span(), SPEX_FLOAT32, labels.outputs);
}

spex_array split_part(const Dataset& data, spex_part part, size_t number) {
  require(number < data.splits.size(), "there is no split {}: {} stores {}", number, data.name,
          data.splits.size());
  const Split& split = data.splits[number];
  const auto& nodes = part == SPEX_TRAIN        ? split.train
                      : part == SPEX_VALIDATION ? split.validation
                                                : split.test;
  return view(nodes.span(), SPEX_UINT32);
}

spex_array key_part(const Dataset& data) {
  require(!data.keys.are_text(), "{} calls its nodes by names, such as {}, not by numbers",
          data.name, data.keys.of(0));
  if (data.keys.empty()) return {};
  return view(data.keys.numbers.span(), SPEX_UINT64);
}

spex_array part_of(const Dataset& data, spex_part part, size_t split) {
  switch (part) {
    case SPEX_OFFSETS:
      return view(data.graph.offsets.span(), SPEX_UINT64);
    case SPEX_NEIGHBOURS:
      return view(data.graph.neighbours.span(), SPEX_UINT32);
    case SPEX_FEATURES:
    case SPEX_FEATURE_OFFSETS:
    case SPEX_FEATURE_COLUMNS:
    case SPEX_FEATURE_VALUES:
      return feature_part(data.features, part);
    case SPEX_LABELS:
      return label_part(data.labels);
    case SPEX_TRAIN:
    case SPEX_VALIDATION:
    case SPEX_TEST:
      return split_part(data, part, split);
    case SPEX_EDGE_FEATURES:
      if (data.edge_feature_count == 0) return {};
      return view(data.edge_features.span(), SPEX_FLOAT32, data.edge_feature_count);
    case SPEX_KEYS:
      return key_part(data);
  }
  fail("a data set has no part {}", static_cast<int>(part));
}

}  // namespace

const Dataset& built(const spex_dataset* dataset) {
  given(dataset, "the data set");
  if (dataset->parts)
    fail("the data set {} is not built yet; call spex_dataset_build", dataset->parts->name);
  return dataset->data;
}

std::unique_ptr<spex_dataset> wrap(Dataset data, std::string path) {
  auto made = std::make_unique<spex_dataset>();
  made->class_names = meaning_of(data).class_names;
  made->data = std::move(data);
  made->path = std::move(path);
  return made;
}

spex_task task_of(Task task) {
  if (task == Task::classes) return SPEX_TASK_CLASSES;
  return task == Task::regression ? SPEX_TASK_REGRESSION : SPEX_TASK_BINARY_LABELS;
}

}  // namespace spex::c_api

using namespace spex::c_api;  // NOLINT

spex_status spex_dataset_open(const char* data, spex_dataset** dataset) {
  return computed([&] {
    std::string path = &given(data, "the data");
    given(dataset, "dataset") = wrap(spex::open_data(path), path).release();
  });
}

spex_status spex_dataset_read(const char* path, unsigned flags, spex_dataset** dataset) {
  return computed([&] {
    auto data = spex::read_dataset(&given(path, "the path"), spex::edge_options(flags));
    given(dataset, "dataset") = wrap(std::move(data), "").release();
  });
}

spex_status spex_dataset_open_tables(const char* edges, const char* features, const char* labels,
                                     spex_dataset** dataset) {
  return computed([&] {
    spex::TableFiles files{&given(edges, "the edges"), features ? features : "",
                           labels ? labels : ""};
    given(dataset, "dataset") = wrap(spex::read_tables(files), "").release();
  });
}

spex_status spex_dataset_new(const char* name, size_t nodes, spex_dataset** dataset) {
  return guarded([&] {
    auto made = std::make_unique<spex_dataset>();
    made->parts = std::make_unique<spex::DatasetParts>();
    made->parts->name = name && *name ? name : "graph";
    made->parts->nodes = nodes;
    given(dataset, "dataset") = made.release();
  });
}

spex_status spex_dataset_edges(spex_dataset* dataset, spex_array edges, unsigned flags) {
  return guarded([&] {
    check_integers(edges, "the edges", 2);
    spex::require(rows(edges) == 2,
                  "the edges are [{}, {}], expected [2, edges]: row 0 the sources, row 1 the "
                  "targets",
                  rows(edges), columns(edges));
    parts_of(dataset).edges = edges;
    dataset->parts->edge_flags = flags;
  });
}

spex_status spex_dataset_adjacency(spex_dataset* dataset, spex_array offsets, spex_array columns,
                                   unsigned flags) {
  return guarded([&] {
    check_integers(offsets, "the adjacency's offsets", 1);
    check_integers(columns, "the adjacency's columns", 1);
    spex::require(rows(offsets) > 0, "the adjacency has no offsets");
    parts_of(dataset).adjacency_offsets = offsets;
    dataset->parts->adjacency_columns = columns;
    dataset->parts->edge_flags = flags;
  });
}

spex_status spex_dataset_edge_features(spex_dataset* dataset, spex_array values) {
  return guarded([&] {
    check_array(values, "the edge features", 1, 2);
    parts_of(dataset).edge_features = values;
  });
}

spex_status spex_dataset_features(spex_dataset* dataset, spex_array features) {
  return guarded([&] {
    check_array(features, "the features", 2, 2);
    parts_of(dataset).features = features;
  });
}

spex_status spex_dataset_sparse_features(spex_dataset* dataset, spex_array offsets,
                                         spex_array columns, spex_array values, size_t width) {
  return guarded([&] {
    check_integers(offsets, "the offsets of the features", 1);
    check_integers(columns, "the columns of the features", 1);
    check_array(values, "the values of the features", 1, 1);
    spex::require(rows(offsets) > 0, "the features have no offsets");
    spex::DatasetParts& parts = parts_of(dataset);
    parts.feature_offsets = offsets;
    parts.feature_columns = columns;
    parts.feature_values = values;
    parts.feature_width = width;
  });
}

spex_status spex_dataset_labels(spex_dataset* dataset, spex_array labels, spex_task task) {
  return guarded([&] {
    check_array(labels, "the labels", 1, 2);
    spex::require(task >= SPEX_TASK_BY_VALUES && task <= SPEX_TASK_REGRESSION,
                  "there is no task {}", static_cast<int>(task));
    parts_of(dataset).labels = labels;
    dataset->parts->task = task;
  });
}

spex_status spex_dataset_class_names(spex_dataset* dataset, const char* const* names,
                                     size_t count) {
  return guarded([&] {
    auto& list = parts_of(dataset).class_names;
    list.clear();
    for (size_t i = 0; i < count; ++i) list.emplace_back(&given(names[i], "a class name"));
  });
}

spex_status spex_dataset_split(spex_dataset* dataset, spex_array train, spex_array validation,
                               spex_array test) {
  return guarded([&] {
    check_array(train, "the training nodes", 1, 2);
    check_array(validation, "the validation nodes", 1, 2);
    if (present(test)) check_array(test, "the test nodes", 1, 2);
    spex::DatasetParts& parts = parts_of(dataset);
    parts.train = train;
    parts.validation = validation;
    parts.test = test;
  });
}

spex_status spex_dataset_build(spex_dataset* dataset) {
  return computed([&] {
    spex::Dataset data = spex::build(parts_of(dataset));
    *dataset = std::move(*wrap(std::move(data), ""));
  });
}

spex_status spex_dataset_describe(const spex_dataset* dataset, spex_dataset_facts* facts) {
  return guarded([&] {
    const spex::Dataset& data = built(dataset);
    given(facts, "facts") = {data.name.c_str(),
                             data.nodes(),
                             data.graph.edges(),
                             spex::feature_count(data.features),
                             std::holds_alternative<spex::SparseMatrix>(data.features),
                             task_of(data.labels.task),
                             data.labels.outputs,
                             data.splits.size(),
                             data.edge_feature_count,
                             data.graph.symmetric};
  });
}

spex_status spex_dataset_class_name(const spex_dataset* dataset, size_t index, const char** name) {
  return guarded([&] {
    built(dataset);
    spex::require(index < dataset->class_names.size(), "there is no class {}: there are {}", index,
                  dataset->class_names.size());
    given(name, "name") = dataset->class_names[index].c_str();
  });
}

spex_status spex_dataset_key(spex_dataset* dataset, size_t node, const char** key) {
  return guarded([&] {
    const spex::Dataset& data = built(dataset);
    spex::require(node < data.nodes(), "there is no node {}: nodes are 0 to {}", node,
                  data.nodes() - 1);
    dataset->key = data.keys.of(static_cast<spex::NodeId>(node));
    given(key, "key") = dataset->key.c_str();
  });
}

spex_status spex_dataset_text(spex_dataset* dataset, const char** text) {
  return computed([&] {
    dataset->text = spex::format(spex::describe(built(dataset)));
    given(text, "text") = dataset->text.c_str();
  });
}

spex_status spex_dataset_part(const spex_dataset* dataset, spex_part part, size_t split,
                              spex_array* array) {
  return guarded([&] { given(array, "array") = part_of(built(dataset), part, split); });
}

spex_status spex_dataset_detach(spex_dataset* dataset) {
  return guarded([&] {
    built(dataset);
    dataset->path.clear();
  });
}

spex_status spex_dataset_save(const spex_dataset* dataset, const char* path) {
  return computed([&] { spex::save_native(built(dataset), &given(path, "the path")); });
}

void spex_dataset_free(spex_dataset* dataset) {
  delete dataset;
}
