// `spex study`: a figure or theorem of the paper.
#pragma once

namespace CLI {
class App;
}

namespace spex::cli {

void add_study_command(CLI::App& app);

}  // namespace spex::cli
