// Files that hold a network, and the state of a training that can be continued.
#pragma once

#include <spex/train/trainer.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace spex {

// A network's parameters and statistics, with what is needed to build it again.
void save_network(const std::filesystem::path& path, const NetworkState& state,
                  std::map<std::string, std::string> metadata);
struct SavedNetwork {
  NetworkState state;
  std::map<std::string, std::string> metadata;
};
SavedNetwork load_network(const std::filesystem::path& path);

struct Checkpoint {
  std::string phase;
  size_t seed = 0;
  TrainState state;
};
void save_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint);
std::optional<Checkpoint> load_checkpoint(
    const std::filesystem::path& path);  // none if there is no file

}  // namespace spex
