// spex report.
#pragma once

namespace CLI {
class App;
}

namespace spex::cli {

void add_report_command(CLI::App& app);

}  // namespace spex::cli
