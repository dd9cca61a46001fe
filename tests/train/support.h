// Small problems and whole runs for the tests of this room.
#pragma once

#include <gtest/gtest.h>
#include <spex/core/error.h>
#include <spex/data/generators.h>
#include <spex/data/native.h>
#include <spex/train/run.h>

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

// Both phases in well under a second on a field of 20 x 20.
inline Config quick_config() {
  Config config;
  config.data = "mines.safetensors";
  config.threads = 2;
  config.expander.degree = 6;
  config.estimator.width = 4;
  config.estimator.optimiser.epochs = 6;
  config.final.optimiser.epochs = 6;
  config.final.width = 8;
  config.final.degrees = {6, 4};
  return config;
}

inline RunResult run(const Config& config, const std::filesystem::path& out,
                     const RunHooks& hooks = {}, RunOptions options = {}, size_t side = 20) {
  options.out = out;
  return run_training(make_problem(small_mines(side), config), config, options, hooks);
}

}  // namespace spex::testing_support
