// Two run directories hold the same result: the same bytes, but for what was measured. Time always
// differs; the peak of memory does where batches are prepared ahead, on another thread.
#pragma once

#include <gtest/gtest.h>
#include <spex/core/files.h>
#include <spex/run/record.h>

#include <filesystem>
#include <string>

namespace spex::testing_support {

inline std::string metrics_without_times(const std::filesystem::path& run) {
  Config config;
  apply_toml(config, read_text(run / "config.toml"), "config.toml");
  auto records = parse_csv(read_text(run / "metrics.csv"), "metrics.csv");
  for (EpochRecord& record : records) {
    record.seconds = record.sample_seconds = 0;
    if (config.final().recipe.batch_size > 0) record.peak_bytes = 0;
  }
  return to_csv(records);
}

inline void expect_same_run(const std::filesystem::path& one, const std::filesystem::path& other) {
  for (const char* file :
       {"model.safetensors", "scores.safetensors", "estimator.safetensors", "attention.safetensors",
        "predictions.csv", "config.toml", "model-2.safetensors", "model-3.safetensors"}) {
    ASSERT_EQ(std::filesystem::exists(one / file), std::filesystem::exists(other / file)) << file;
    if (std::filesystem::exists(one / file)) {
      EXPECT_TRUE(read_text(one / file) == read_text(other / file)) << file << " differs";
    }
  }
  EXPECT_EQ(metrics_without_times(one), metrics_without_times(other));
}

}  // namespace spex::testing_support
