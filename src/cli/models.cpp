#include "cli/models.h"

#include <fmt/core.h>
#include <spex/config/config.h>

#include <CLI/CLI.hpp>
#include <memory>

namespace spex::cli {
namespace {

void list_models() {
  for (const ModelInfo& info : models()) fmt::print("{:<18} {}\n", info.name, info.help);
}

// The settings of one model, with their defaults.
void describe_model(const std::string& name) {
  const ModelInfo& info = find_model(name);
  Phase phase{name, info.recipe, info.options()};
  fmt::print("# {}: {}\n{}", name, info.help, to_toml(phase));
}

}  // namespace

void add_models_command(CLI::App& app) {
  auto* command = app.add_subcommand("models", "List the models that --model takes");
  auto name = std::make_shared<std::string>();
  command->add_option("NAME", *name, "One of them: its settings and their defaults");
  command->footer("Examples:\n  spex models\n  spex models gcn");
  command->callback([name] { name->empty() ? list_models() : describe_model(*name); });
}

}  // namespace spex::cli
