// spex data info, spex data convert.
#pragma once

namespace CLI {
class App;
}

namespace spex::cli {

// Adds `info` and `convert` below `data`, which is the subcommand `spex data`. What they do runs
// when the command line is parsed; errors are spex::Error.
void add_data_commands(CLI::App& data);

}  // namespace spex::cli
