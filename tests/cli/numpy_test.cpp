// docs/formats.md suffices: a program in another language, written from that page, predicts the same.
#include <spex/data/generators.h>
#include <spex/data/native.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <sstream>

#include "cli/program.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

constexpr const char* kPython = "/usr/bin/python3";

// The numbers of each node's row, from column `first` on.
std::map<std::string, std::vector<double>> rows_of(const std::string& csv, size_t first) {
  std::map<std::string, std::vector<double>> rows;
  std::istringstream lines(csv);
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    std::istringstream fields(line);
    std::string field, node;
    for (size_t column = 0; std::getline(fields, field, ','); ++column) {
      if (column == 0) node = field;
      if (column >= first) rows[node].push_back(std::stod(field));
    }
  }
  return rows;
}

// The default model in a shape of its own, with weights that make attention matter.
std::vector<std::string> local(const std::vector<std::string>& settings) {
  std::vector<std::string> arguments = {"--model", "spexphormer-local", "--set",
                                        "estimator.epochs=4"};
  auto set = [&](const std::string& setting) {
    arguments.insert(arguments.end(), {"--set", "spexphormer-local." + setting});
  };
  for (const char* each : {"layers=3", "width=16", "epochs=25", "learning_rate=0.05"}) set(each);
  for (const std::string& each : settings) set(each);
  return arguments;
}

TEST(NumpyProgram, PredictsWhatSpexPredicts) {
  if (std::system("/usr/bin/python3 -c 'import numpy' 2>/dev/null") != 0)
    GTEST_SKIP() << "there is no NumPy here: scripts/install-deps installs it";
  TemporaryFolder folder;
  std::string data = folder / "mines.safetensors";
  MinesweeperOptions options;
  options.rows = options.columns = 14;
  save_native(generate_minesweeper(options), data);
  const std::vector<std::vector<std::string>> kinds = {
      {"--set", "spexphormer.resample_every=3", "--set", "spexphormer.post_layers=1"},
      {"--set", "spexphormer.log_scores=true", "--set", "spexphormer.heads=1", "--set",
       "spexphormer.norm=layer", "--set", "spexphormer.truncate=5"},
      {"--set", "spexphormer.sampling=uniform", "--set", "spexphormer.pre_layers=2"},
      {"--model", "exphormer", "--set", "exphormer.virtual_nodes=2", "--set",
       "exphormer.epochs=15"},
      {"--model", "exphormer", "--set", "exphormer.norm=graph", "--set", "exphormer.epochs=15"},
      {"--members", "3", "--set", "spexphormer.sampling=uniform"},
      {"--members", "3", "--set", "variants=width=16 sampling=top | norm=none"},
      local({"conv=gcn", "pre_linear=true"}),
      local({"conv=sage", "degree=4", "residual=false"}),
      local({"conv=gat", "degree=4", "batch_size=50", "local_cap=3", "norm=layer"}),
      local({"conv=gcn", "degree=4", "batch_size=50", "local_cap=3", "resample_every=3"})};
  for (size_t i = 0; i < kinds.size(); ++i) {
    SCOPED_TRACE(i);
    std::string run = folder / ("run" + std::to_string(i)), out = folder / "numpy.csv";
    std::vector<std::string> arguments = {"train", data, "--out", run, "-q", "--threads", "1"};
    if (kinds[i].front() != "--model") arguments = training(data, run, {"-q"});
    arguments.insert(arguments.end(), kinds[i].begin(), kinds[i].end());
    Outcome trained = spex(arguments);
    ASSERT_EQ(trained.code, 0) << trained.err;
    std::string command = std::string(kPython) + " " SPEX_SOURCE_DIR "/examples/numpy_predict.py " +
                          run + " > " + out;
    ASSERT_EQ(std::system(command.c_str()), 0);
    auto expected = rows_of(spex({"predict", run}).out, 2);
    auto found = rows_of(read_text(out), 1);
    ASSERT_EQ(found.size(), 196U);
    for (const auto& [node, values] : expected)
      for (size_t c = 0; c < values.size(); ++c)
        ASSERT_NEAR(found[node].at(c), values[c], 2e-5) << "node " << node;
  }
}

}  // namespace
}  // namespace spex
