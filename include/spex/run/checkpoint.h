// The state of a training that can be continued, as a file.
#pragma once

#include <spex/train/trainer.h>

#include <filesystem>
#include <optional>
#include <string>

namespace spex {

struct Checkpoint {
  std::string phase;
  size_t seed = 0;
  TrainState state;
};
void save_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint);
std::optional<Checkpoint> load_checkpoint(
    const std::filesystem::path& path);  // none if there is no file

}  // namespace spex
