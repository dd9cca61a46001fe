// What to say of a wrong command line: one sentence, with the nearest right word.
#pragma once

#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace spex::cli {

std::string explain(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv);

}  // namespace spex::cli
