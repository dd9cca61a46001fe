#include "cli/generate.h"

#include <fmt/core.h>
#include <spex/data/generators.h>
#include <spex/data/native.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "cli/outputs.h"
#include "cli/settings.h"

namespace spex::cli {
namespace {

struct GenerateCommand {
  std::string name;
  std::string out;
  GeneratorOptions options;
};

std::string list_of_generators() {
  std::string text = "Generators, and the options each takes besides --seed:\n";
  for (const GeneratorInfo& info : generators())
    text += fmt::format("  {:<12} {} ({})\n", info.name, info.what, info.options);
  return text + "Example:\n  spex data generate arxiv --scale 0.1 --out arxiv-tenth.safetensors";
}

void add_options(CLI::App& app, GenerateCommand& request) {
  GeneratorOptions& options = request.options;
  app.add_option("NAME", request.name, "Which generator")->required();
  app.add_option("--out", request.out, "File to write (safetensors)")->required();
  auto add = [&](const char* name, auto& value, const Range& range, const char* meaning) {
    app.add_option(name, value, meaning)->check(within(range));
  };
  add("--seed", options.seed, {0, 1e18}, "Another seed, another data set");
  add("--nodes,--size", options.nodes, {1, 4e9}, "Number of nodes");
  add("--cluster", options.cluster, {2, 1e9}, "Nodes in a cluster");
  add("--classes", options.classes, {1, 1e6}, "Number of classes");
  add("--features", options.features, {1, 1e6}, "Number of features");
  add("--scale", options.scale, {0, 1e3, Range::above}, "Factor on the nodes and edges of a twin");
  add("--degree", options.degree, {0, 1e6}, "Average degree");
  add("--homophily", options.homophily, {0, 1}, "Share of edges drawn within a class");
  add("--skew", options.skew, {0, 1, Range::below}, "Skew of the degrees, from 0 to below 1");
  add("--noise", options.noise, {0, 1e6}, "Noise of the features, 1 by default");
}

}  // namespace

void add_generate_command(CLI::App& data) {
  auto* app = data.add_subcommand("generate", "Make a synthetic data set");
  auto request = std::make_shared<GenerateCommand>();
  add_options(*app, *request);
  app->footer(list_of_generators());
  app->callback([request] {
    check_output(request->out, {});
    Dataset dataset = generate(request->name, request->options);
    save_native(dataset, request->out);
    fmt::print("{}: {} ({}), synthetic, {} nodes, {} directed edges, {} features\n", request->out,
               dataset.name, dataset.source, dataset.nodes(), dataset.graph.edges(),
               feature_count(dataset.features));
  });
}

}  // namespace spex::cli
