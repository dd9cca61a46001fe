// `spex tune`: a search for better settings on validation nodes.
#pragma once

namespace CLI {
class App;
}

namespace spex::cli {

void add_tune_command(CLI::App& app);

}  // namespace spex::cli
