// Small problems and whole runs for the tests of this room.
#pragma once

#include <gtest/gtest.h>
#include <spex/core/error.h>
#include <spex/data/generators.h>
#include <spex/data/native.h>
#include <spex/model/spexphormer.h>
#include <spex/run/run.h>

#include <string>

#include "folder.h"

namespace spex::testing_support {

template <class Run>
std::string message_of(Run&& run) {
  try {
    run();
  } catch (const Error& error) {
    return error.what();
  }
  return "(no error)";
}

#define EXPECT_SAYS(run, part)                                                                     \
  do {                                                                                             \
    std::string said = ::spex::testing_support::message_of([&] { run; });                          \
    EXPECT_NE(said.find(part), std::string::npos) << "expected: " << (part) << "\nsaid: " << said; \
  } while (false)

inline Dataset small_mines(size_t side = 40, uint64_t seed = 0) {
  MinesweeperOptions options;
  options.rows = options.columns = side;
  options.seed = seed;
  return generate_minesweeper(options);
}

inline EstimatorOptions& estimator_options(Config& config) {
  return config.options<EstimatorOptions>("estimator");
}
inline SpexphormerOptions& final_options(Config& config) {
  return config.options<SpexphormerOptions>("spexphormer");
}

// Both phases in well under a second on a field of 20 x 20.
inline Config quick_config() {
  Config config;
  config.data = "mines.safetensors";
  config.threads = 2;
  config.expander.degree = 6;
  estimator_options(config).width = 4;
  config.phase("estimator").recipe.epochs = 6;
  config.final().recipe.epochs = 6;
  final_options(config).width = 8;
  final_options(config).degrees = {6, 4};
  return config;
}

inline RunResult run(const Config& config, const std::filesystem::path& out,
                     const RunHooks& hooks = {}, RunOptions options = {}, size_t side = 20) {
  options.out = out;
  return run_training(make_problem(small_mines(side), config), config, options, hooks);
}

}  // namespace spex::testing_support
