#include "cli/predict.h"

#include <fmt/core.h>
#include <spex/core/error.h>
#include <spex/core/files.h>
#include <spex/run/predict.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>

#include "cli/outputs.h"
#include "cli/settings.h"

namespace spex::cli {
namespace {

struct PredictCommand {
  PredictOptions options;
  std::optional<std::string> nodes;
  std::string out;
};

// "3,17,4" or "alice,bob", or the name of a file with one per line, whatever its line ends.
std::vector<std::string> parse_keys(const std::string& text) {
  bool file = std::filesystem::exists(text);
  std::string list = file ? read_text(text) : text;
  if (list.starts_with("\xEF\xBB\xBF")) list.erase(0, 3);
  if (file) std::replace(list.begin(), list.end(), '\r', '\n');
  std::stringstream stream(list);
  std::vector<std::string> keys;
  for (std::string item; std::getline(stream, item, file ? '\n' : ',');)
    if (!item.empty()) keys.push_back(item);
  require(!keys.empty(), "--nodes names no node");
  return keys;
}

void run(PredictCommand& request) {
  if (request.nodes) request.options.keys = parse_keys(*request.nodes);
  if (!request.out.empty())
    check_output(request.out,
                 {request.options.run, request.options.data, request.nodes.value_or("")});
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
  auto request = std::make_shared<PredictCommand>();
  command->add_option("RUN", request->options.run, "The run directory")->required();
  command->add_option("--data", request->options.data,
                      "Another data set with the same features (the run's own)");
  command->add_option("--nodes", request->nodes,
                      "Nodes as the data names them, 3,17 or ann,bob, or a file of them (all)");
  command->add_option("--batch", request->options.batch, "Nodes per batch; less memory, more time")
      ->check(within({0, 1e9}));
  command->add_option("--samples", request->options.samples, "Average over so many samples (1)")
      ->check(within({1, 1e6}));
  command->add_option("--out", request->out, "CSV file to write (standard output)")
      ->type_name("FILE");
  command->footer("Example:\n  spex predict runs/mines --nodes 0,1,2");
  command->callback([request] { run(*request); });
}

}  // namespace spex::cli
