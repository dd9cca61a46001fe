// A record as the files of a run directory that lasts as long as this object.
#pragma once

#include <spex/core/files.h>
#include <spex/run/run.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace spex::example {

class Run {
 public:
  explicit Run(const RunRecord& record)
      : path(std::filesystem::temp_directory_path() /
             ("spex_run_" + std::to_string(::getpid()) + "_" + std::to_string(count_++))) {
    std::filesystem::create_directories(path);
    write_text(path / "summary.json", to_json(record.summary));
    write_text(path / "details.json", to_json(record.details));
    write_text(path / "metrics.csv", to_csv(record.epochs));
    Config config;
    config.data = record.summary.data;
    write_text(path / "config.toml", kRunHeader + to_toml(config));
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  ~Run() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }

  const std::filesystem::path path;

 private:
  static inline int count_ = 0;
};

}  // namespace spex::example
