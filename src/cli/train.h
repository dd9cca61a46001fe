// spex train.
#pragma once

namespace CLI {
class App;
}

namespace spex::cli {

void add_train_command(CLI::App& app);

}  // namespace spex::cli
