#include "cli/data.h"

#include <fmt/format.h>
#include <spex/core/error.h>
#include <spex/core/log.h>
#include <spex/data/generators.h>
#include <spex/data/info.h>
#include <spex/data/native.h>
#include <spex/data/reader.h>
#include <spex/graph/builder.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>
#include <memory>

#include "cli/outputs.h"

namespace spex::cli {
namespace {

struct Input {
  std::string data;
  TableFiles tables;
  ReadOptions options;
  bool directed = false, keep_duplicates = false, keep_self_loops = false, no_edges = false;
};

// An option that takes one of a few words.
template <class Value>
void choice(CLI::App& app, const char* name, Value& value, const char* what,
            const std::map<std::string, Value>& words) {
  std::vector<std::string> names;
  for (const auto& word : words) names.push_back(word.first);
  app.add_option_function<std::string>(
         name, [words, &value](const std::string& word) { value = words.at(word); }, what)
      ->type_name(fmt::format("{}", fmt::join(names, "|")))
      ->check(CLI::IsMember(names).description(""));
}

void add_input(CLI::App& app, Input& input) {
  app.add_option("--edges", input.tables.edges, "Edge list (CSV, TSV or text, also gzip)");
  app.add_option("--features", input.tables.features,
                 "Features: CSV, or JSON lists of feature ids");
  app.add_option("--labels", input.tables.labels, "Labels: CSV");
  auto column = [&](const char* name, std::string& value, const char* what) {
    app.add_option(name, value, fmt::format("Column of {}: name, or number from 1", what))
        ->type_name("COLUMN");
  };
  column("--source-column", input.options.source_column, "the edges' sources");
  column("--target-column", input.options.target_column, "the edges' targets");
  column("--weight-column", input.options.weight_column, "the edges' weight");
  column("--id-column", input.options.id_column, "the nodes in features and labels");
  column("--label-column", input.options.label_column, "the labels");
  choice(app, "--task", input.options.task, "What the labels are",
         {{"classes", LabelTask::classes}, {"regression", LabelTask::regression}});
  choice(app, "--combine", input.options.combine, "Features of parallel edges that become one",
         {{"mean", EdgeCombine::mean}, {"sum", EdgeCombine::sum}, {"max", EdgeCombine::max}});
  app.add_flag("--directed", input.directed,
               "Add no reverse edges: a source looks at its targets only");
  app.add_flag("--keep-duplicates", input.keep_duplicates, "Keep parallel edges");
  app.add_flag("--keep-self-loops", input.keep_self_loops, "Keep edges from a node to itself");
  app.add_flag("--no-edges", input.no_edges, "Leave all edges out: features and labels alone");
  app.add_flag("--species", input.options.species, "OGB proteins: add the species to the features");
}

Dataset read_with_edges(Input& input) {
  input.options.undirected = !input.directed;
  input.options.drop_duplicates = !input.keep_duplicates;
  input.options.drop_self_loops = !input.keep_self_loops;
  require(input.data.empty() != input.tables.edges.empty(),
          "name one data set, or its tables with --edges (and --features, --labels)");
  if (input.data.empty()) return read_tables(input.tables, input.options);
  bool replaced = !input.tables.features.empty() || !input.tables.labels.empty();
  ReadOptions of_data = input.options;
  if (replaced) of_data.id_column = "";  // what is said about columns is about the tables
  if (!input.tables.labels.empty()) {
    of_data.label_column = "";
    of_data.task = LabelTask::by_values;
  }
  Dataset dataset =
      is_generator(input.data) ? generate(input.data) : read_dataset(input.data, of_data);
  return replaced ? with_tables(std::move(dataset), input.tables, input.options) : dataset;
}

Dataset read(Input& input) {
  set_log_sink([](std::string_view line) { fmt::print(stderr, "{}\n", line); });
  Dataset data = read_with_edges(input);
  if (input.no_edges) {
    data.graph = build_csr(data.nodes(), {}, {}, {.undirected = true}).graph;
    data.edge_feature_count = 0;
    data.edge_features = {};
  }
  return data;
}

void add_info(CLI::App& data) {
  auto* app = data.add_subcommand("info", "Describe a data set");
  auto input = std::make_shared<Input>();
  app->add_option("DATA", input->data, "File or folder, in any format that is read");
  add_input(*app, *input);
  app->footer("Example:\n  spex data info tolokers.npz");
  app->callback([input] { fmt::print("{}", format(describe(read(*input)))); });
}

void add_convert(CLI::App& data) {
  auto* app = data.add_subcommand("convert", "Write a data set as one native file");
  auto input = std::make_shared<Input>();
  auto paths = std::make_shared<std::vector<std::string>>();
  app->add_option("PATHS", *paths, "DATA OUT, or OUT alone with --edges")
      ->required()
      ->expected(1, 2);
  add_input(*app, *input);
  app->footer(
      "Examples:\n"
      "  spex data convert tolokers.npz tolokers.safetensors\n"
      "  spex data convert --edges facebook_edges.csv --features facebook.json \\\n"
      "      --labels facebook_target.csv --label-column page_type facebook.safetensors");
  app->callback([input, paths] {
    if (paths->size() == 2) input->data = paths->front();
    check_output(paths->back(),
                 {input->data, input->tables.edges, input->tables.features, input->tables.labels});
    Dataset dataset = read(*input);
    save_native(dataset, paths->back());
    fmt::print("{}: {} nodes, {} edges\n", paths->back(), dataset.nodes(), dataset.graph.edges());
  });
}

}  // namespace

void add_data_commands(CLI::App& data) {
  add_info(data);
  add_convert(data);
}

}  // namespace spex::cli
