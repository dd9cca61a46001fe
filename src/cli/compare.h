// `spex compare`: several models on the same splits.
#pragma once

namespace CLI {
class App;
}

namespace spex::cli {

void add_compare_command(CLI::App& app);

}  // namespace spex::cli
