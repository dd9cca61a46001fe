#include "cli/run_place.h"

#include <spex/core/error.h>

#include <ctime>
#include <fstream>

namespace spex::cli {
namespace {

namespace fs = std::filesystem;

std::string local_time(const char* format) {
  std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  char text[64];
  return {text, std::strftime(text, sizeof text, format, &parts)};
}

std::string for_shell(const std::string& word) {
  bool plain =
      !word.empty() && word.find_first_of(" \t\n\"'\\$&|;<>()[]{}*?#~`!") == std::string::npos;
  if (plain) return word;
  std::string text = "'";
  for (char c : word) c == '\'' ? text += "'\\''" : text += c;
  return text + "'";
}

}  // namespace

fs::path default_run(const std::string& data, bool resume) {
  fs::path latest = fs::path(kRuns) / "latest";
  if (resume) {
    require(fs::exists(latest), "there is no run to resume in {}; name it with --out", kRuns);
    return fs::relative(fs::canonical(latest));
  }
  return fs::path(kRuns) /
         fmt::format("{}-{}", local_time("%Y%m%d-%H%M%S"), fs::path(data).stem().string());
}

void link_latest(const fs::path& run) {
  fs::path folder = fs::absolute(run).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();
  if (folder.parent_path().filename() != kRuns) return;
  fs::path link = folder.parent_path() / "latest", fresh = link;
  fresh += ".partial";
  std::error_code error;  // a link is a convenience: without it the run goes on
  if (folder == link ||
      (fs::exists(fs::symlink_status(link, error)) && !fs::is_symlink(link, error)))
    return;
  fs::remove(fresh, error);
  fs::create_directory_symlink(folder.filename(), fresh, error);
  if (!error) fs::rename(fresh, link, error);
}

std::string command_line() {
  std::ifstream file("/proc/self/cmdline");
  std::string text;
  for (std::string word; std::getline(file, word, '\0');)
    text += (text.empty() ? "" : " ") + for_shell(word);
  return text;
}

}  // namespace spex::cli
