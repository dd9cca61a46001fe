#include "cli/generate.h"

#include <fmt/core.h>
#include <spex/data/generators.h>
#include <spex/data/native.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

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
  app.add_option("--seed", options.seed, "Another seed, another data set");
  app.add_option("--nodes,--size", options.nodes, "Number of nodes");
  app.add_option("--cluster", options.cluster, "Nodes in a cluster");
  app.add_option("--classes", options.classes, "Number of classes");
  app.add_option("--features", options.features, "Number of features");
  app.add_option("--scale", options.scale, "Factor on the nodes and edges of a twin");
  app.add_option("--degree", options.degree, "Average degree");
  app.add_option("--homophily", options.homophily, "Share of edges drawn within a class");
  app.add_option("--skew", options.skew, "Skew of the degrees, from 0 to below 1");
  app.add_option("--noise", options.noise, "Noise of the features, 1 by default");
}

}  // namespace

void add_generate_command(CLI::App& data) {
  auto* app = data.add_subcommand("generate", "Make a synthetic data set");
  auto request = std::make_shared<GenerateCommand>();
  add_options(*app, *request);
  app->footer(list_of_generators());
  app->callback([request] {
    Dataset dataset = generate(request->name, request->options);
    save_native(dataset, request->out);
    fmt::print("{}: {} ({}), synthetic, {} nodes, {} directed edges, {} features\n", request->out,
               dataset.name, dataset.source, dataset.nodes(), dataset.graph.edges(),
               feature_count(dataset.features));
  });
}

}  // namespace spex::cli
