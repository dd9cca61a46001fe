// spex help COMMAND.
#pragma once

namespace CLI {
class App;
}

namespace spex::cli {

void add_help_command(CLI::App& app);

}  // namespace spex::cli
