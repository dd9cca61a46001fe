// `spex models`: what can be trained.
#pragma once

namespace CLI {
class App;
}

namespace spex::cli {

void add_models_command(CLI::App& app);

}  // namespace spex::cli
