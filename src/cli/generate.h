// spex data generate.
#pragma once

namespace CLI {
class App;
}

namespace spex::cli {

// Adds `generate` below `data`, which is the subcommand `spex data`. It runs when the command line
// is parsed; errors are spex::Error.
void add_generate_command(CLI::App& data);

}  // namespace spex::cli
