// spex predict.
#pragma once

namespace CLI {
class App;
}

namespace spex::cli {

void add_predict_command(CLI::App& app);

}  // namespace spex::cli
