// spex estimate.
#pragma once

namespace CLI {
class App;
}

namespace spex::cli {

void add_estimate_command(CLI::App& app);

}  // namespace spex::cli
