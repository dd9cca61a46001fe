#include "cli/predict.h"

#include <fmt/core.h>
#include <spex/core/error.h>
#include <spex/core/files.h>
#include <spex/run/predict.h>

#include <CLI/App.hpp>
#include <charconv>
#include <iostream>
#include <memory>
#include <sstream>

namespace spex::cli {
namespace {

struct Request {
  PredictOptions options;
  std::string nodes;
  std::string out;
};

NodeId parse_node(const std::string& text, const std::string& source) {
  NodeId node = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), node);
  require(error == std::errc() && end == text.data() + text.size(), "{}: \"{}\" is not a node id",
          source, text);
  return node;
}

// "3,17,4", or the name of a file with one id per line.
std::vector<NodeId> parse_nodes(const std::string& text) {
  bool file = std::filesystem::exists(text);
  std::stringstream stream(file ? read_text(text) : text);
  std::vector<NodeId> nodes;
  for (std::string item; std::getline(stream, item, file ? '\n' : ',');)
    if (!item.empty()) nodes.push_back(parse_node(item, file ? text : "--nodes"));
  require(!nodes.empty(), "--nodes names no node");
  return nodes;
}

void run(Request& request) {
  if (!request.nodes.empty()) request.options.nodes = parse_nodes(request.nodes);
  Predictions predictions = predict(request.options);
  if (request.out.empty()) {
    write_csv(std::cout, predictions);
    return;
  }
  write_atomically(request.out, [&](std::ostream& out) { write_csv(out, predictions); });
  fmt::print("{}: predictions for {} nodes\n", request.out, predictions.nodes.size());
}

}  // namespace

void add_predict_command(CLI::App& app) {
  auto* command =
      app.add_subcommand("predict", "Predict with a trained run, on its graph or on a new one");
  auto request = std::make_shared<Request>();
  command->add_option("RUN", request->options.run, "The run directory")->required();
  command->add_option("--data", request->options.data,
                      "Another data set with the same features (the run's own)");
  command->add_option("--nodes", request->nodes,
                      "Node ids, as 3,17,4, or a file with one per line (all)");
  command->add_option("--batch", request->options.batch, "Nodes per batch; less memory, more time");
  command->add_option("--samples", request->options.samples, "Average over so many samples (1)");
  command->add_option("--out", request->out, "CSV file to write (standard output)")
      ->type_name("FILE");
  command->footer("Example:\n  spex predict runs/mines --nodes 0,1,2");
  command->callback([request] { run(*request); });
}

}  // namespace spex::cli
