// Accuracy without choosing anything, beside our own perceptron and GCN with their defaults, on the
// same splits: the stored ones (10 at most), else 60/20/20 by seed. `bench/accuracy` builds and
// runs it.
#include <fmt/core.h>
#include <fmt/format.h>
#include <spex/core/error.h>
#include <spex/core/files.h>
#include <spex/run/defaults.h>
#include <spex/run/run.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include "run/moments.h"

namespace spex {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

struct BenchSet {
  std::string name;  // in the table
  std::string path;
  std::string counts;  // a random split by class in place of the stored ones
};

struct Request {
  std::vector<BenchSet> tasks;
  fs::path out = "accuracy.csv", tuned;
  std::string only;
  size_t runs = 10;
};

struct Line {
  double validation = 0, test = 0, seconds = 0, megabytes = 0;
};
// By data, model and run.
using Lines = std::map<std::string, std::map<std::string, std::map<size_t, Line>>>;

constexpr size_t kSeeds = 5;  // where there are no stored splits
constexpr const char* kModels[] = {"default", "tuned", "mlp", "gcn"};

// Targets of the defaults, in percent.
const std::map<std::string, double>& targets() {
  static const std::map<std::string, double> table = {
      {"texas", 78},       {"wisconsin", 83},  {"cornell", 75},    {"chameleon_filtered", 41},
      {"citeseer", 75.5},  {"cora", 87},       {"actor", 36.5},    {"actor (authors' split)", 38.5},
      {"minesweeper", 95}, {"tolokers", 84.5}, {"facebook", 93.5},
  };
  return table;
}

Lines read_lines(const fs::path& file) {
  Lines lines;
  if (!fs::exists(file)) return lines;
  std::istringstream text(read_text(file));
  std::string row;
  while (std::getline(text, row)) {
    std::istringstream fields(row);
    std::string data, model, word;
    std::vector<double> numbers;
    std::getline(fields, data, ',');
    std::getline(fields, model, ',');
    if (data == "data") continue;
    while (std::getline(fields, word, ',')) numbers.push_back(std::stod(word));
    require(numbers.size() == 5, "{}: expected 7 fields in \"{}\"", file.string(), row);
    lines[data][model][static_cast<size_t>(numbers[0])] = {numbers[1], numbers[2], numbers[3],
                                                           numbers[4]};
  }
  return lines;
}

SplitConfig split_of(const BenchSet& task, const Dataset& data, size_t run) {
  SplitConfig split;
  split.counts = task.counts;
  if (!task.counts.empty() || data.splits.empty())
    split.seed = run;
  else
    split.index = run;
  return split;
}

// None: there is no tuned setting of this data set.
std::optional<Config> config_of(const Request& request, const std::string& model,
                                const BenchSet& task, const Dataset& data, size_t run) {
  SplitConfig split = split_of(task, data, run);
  if (model == "default") return default_config(data, default_model(data), split);
  if (model != "tuned") return default_config(data, model, split);
  fs::path file = request.tuned / (data.name + ".toml");
  if (request.tuned.empty() || !fs::exists(file)) return std::nullopt;
  Config config;
  apply_toml(config, read_text(file), file.string());
  config.split = split;
  return config;
}

// As `spex train` does it, in a folder that is thrown away.
Line train(const Dataset& data, const Config& config) {
  fs::path folder = fs::temp_directory_path() / fmt::format("spex-accuracy-{}", getpid());
  RunOptions options;
  options.out = folder;
  options.replace = true;
  RunSummary s = run_training(make_problem(data, config), config, options, {}).record.summary;
  fs::remove_all(folder);
  const SeedResult& result = s.seeds.front();
  size_t peak = std::max(s.final.peak_bytes, s.estimator.peak_bytes);
  return {result.validation, result.test, 0, 1e-6 * static_cast<double>(peak)};
}

void run_task(const Request& request, const BenchSet& task, Lines& lines) {
  Dataset data = open_data(task.path);
  bool stored = task.counts.empty() && !data.splits.empty();
  size_t runs = std::min(request.runs, stored ? data.splits.size() : kSeeds);
  for (const std::string model : kModels)
    for (size_t run = 0; run < runs; ++run) {
      if (!request.only.empty() && model != request.only) continue;
      if (lines[task.name][model].contains(run)) continue;
      auto start = Clock::now();
      std::optional<Config> config = config_of(request, model, task, data, run);
      if (!config) break;
      config->seed = run;
      Line line = train(data, *config);
      line.seconds = std::chrono::duration<double>(Clock::now() - start).count();
      lines[task.name][model][run] = line;
      std::ofstream out(request.out, std::ios::app);
      if (fs::file_size(request.out) == 0)
        out << "data,model,run,validation,test,seconds,megabytes\n";
      out << fmt::format("{},{},{},{},{},{},{}\n", task.name, model, run, line.validation,
                         line.test, line.seconds, line.megabytes);
    }
}

std::string spread(const std::map<size_t, Line>& runs) {
  std::vector<double> tests;
  for (const auto& [run, line] : runs) tests.push_back(100 * line.test);
  if (tests.empty()) return "-";
  Moments m = moments(tests);
  return fmt::format("{:.1f} ± {:.1f}", m.mean, m.deviation);
}

// Test of the default less that of the other, on the same splits, with its standard error.
std::string paired(const std::map<size_t, Line>& ours, const std::map<size_t, Line>& theirs) {
  std::vector<double> differences;
  for (const auto& [run, line] : ours)
    if (auto other = theirs.find(run); other != theirs.end())
      differences.push_back(100 * (line.test - other->second.test));
  if (differences.empty()) return "-";
  Moments m = moments(differences);
  return fmt::format("{:+.1f} ± {:.1f}", m.mean, m.error);
}

void print(const BenchSet& task, std::map<std::string, std::map<size_t, Line>>& models) {
  auto& ours = models["default"];
  double seconds = 0, megabytes = 0;
  for (const auto& [run, line] : ours) {
    seconds += line.seconds / static_cast<double>(ours.size());
    megabytes = std::max(megabytes, line.megabytes);
  }
  auto target = targets().find(task.name);
  fmt::print("| {} | {} | {} | {} | {} | {} | {} | {} | {:.1f} | {:.0f} |\n", task.name,
             target == targets().end() ? "-" : fmt::format("{}", target->second), spread(ours),
             spread(models["tuned"]), spread(models["mlp"]), spread(models["gcn"]),
             paired(ours, models["mlp"]), paired(ours, models["gcn"]), seconds, megabytes);
  std::fflush(stdout);
}

std::vector<BenchSet> shared_tasks() {
  const fs::path folder = "../shared/data";
  std::vector<BenchSet> tasks;
  for (const char* name : {"texas", "wisconsin", "cornell", "chameleon_filtered", "citeseer",
                           "cora", "actor", "minesweeper", "tolokers"})
    tasks.push_back({name, folder / fmt::format("{}.npz", name), ""});
  tasks.push_back({"actor (authors' split)", folder / "actor.npz", "760/1900/1900"});
  tasks.push_back({"facebook", folder / "facebook", ""});
  tasks.push_back({"twitch-engb", folder / "twitch-engb", ""});
  return tasks;
}

std::optional<BenchSet> named(const std::vector<BenchSet>& tasks, const std::string& name) {
  for (const BenchSet& task : tasks)
    if (task.name == name) return task;
  return std::nullopt;
}

Request parse(int argc, char** argv) {
  Request request;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    bool valued = i + 1 < argc;
    if (word == "--out" && valued)
      request.out = argv[++i];
    else if (word == "--runs" && valued)
      request.runs = std::stoul(argv[++i]);
    else if (word == "--tuned" && valued)
      request.tuned = argv[++i];
    else if (word == "--only" && valued)
      request.only = argv[++i];
    else if (auto known = named(shared_tasks(), word))
      request.tasks.push_back(*known);
    else
      request.tasks.push_back({fs::path(word).stem().string(), word, ""});
  }
  if (request.tasks.empty()) request.tasks = shared_tasks();
  return request;
}

}  // namespace
}  // namespace spex

int main(int argc, char** argv) {
  using namespace spex;  // NOLINT
  try {
    Request request = parse(argc, argv);
    Lines lines = read_lines(request.out);
    fmt::print(
        "| data | target | default, test % | tuned | mlp | gcn | default - mlp, paired | default - "
        "gcn | s per run | MB |\n|---|---|---|---|---|---|---|---|---|---|\n");
    for (const BenchSet& task : request.tasks) {
      run_task(request, task, lines);
      print(task, lines[task.name]);
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
