#include <spex/core/error.h>
#include <spex/core/safetensors.h>
#include <spex/run/checkpoint.h>

#include <charconv>

#include "run/state_tensors.h"

namespace spex {
namespace {

constexpr const char* kCheckpointFormat = "spex-checkpoint-2";

void check_format(const Safetensors& file, const char* format, const char* what) {
  auto found = file.metadata().find("format");
  require(found != file.metadata().end() && found->second == format, "{} is not {}",
          file.path().string(), what);
}

// Numbers as text that reads back to the same bits.
template <class T>
T number(const Safetensors& file, const std::string& key) {
  auto found = file.metadata().find(key);
  require(found != file.metadata().end(), "{} lacks {}", file.path().string(), key);
  T value{};
  const std::string& text = found->second;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  require(error == std::errc() && end == text.data() + text.size(),
          "{}: {} is \"{}\", not a number", file.path().string(), key, text);
  return value;
}

}  // namespace

void save_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint) {
  const TrainState& s = checkpoint.state;
  std::vector<TensorSource> tensors;
  add_tensors(tensors, "model/", s.model);
  add_tensors(tensors, "first_moment/", s.first_moment);
  add_tensors(tensors, "second_moment/", s.second_moment);
  add_tensors(tensors, "best/", s.best);
  write_safetensors(path, tensors,
                    {{"format", kCheckpointFormat},
                     {"phase", checkpoint.phase},
                     {"seed", fmt::format("{}", checkpoint.seed)},
                     {"next_epoch", fmt::format("{}", s.next_epoch)},
                     {"optimiser_steps", fmt::format("{}", s.optimiser_steps)},
                     {"best_epoch", fmt::format("{}", s.best_epoch)},
                     {"best_validation", fmt::format("{}", s.best_validation)},
                     {"best_test", fmt::format("{}", s.best_test)},
                     {"best_temperature", fmt::format("{}", s.best_temperature)}});
}

std::optional<Checkpoint> load_checkpoint(const std::filesystem::path& path) {
  if (!std::filesystem::exists(path)) return std::nullopt;
  auto file = Safetensors::open(path);
  check_format(file, kCheckpointFormat, "a checkpoint that spex wrote");
  Checkpoint checkpoint;
  checkpoint.phase = file.metadata().at("phase");
  checkpoint.seed = number<size_t>(file, "seed");
  TrainState& s = checkpoint.state;
  s.next_epoch = number<size_t>(file, "next_epoch");
  s.optimiser_steps = number<size_t>(file, "optimiser_steps");
  s.best_epoch = number<size_t>(file, "best_epoch");
  s.best_validation = number<double>(file, "best_validation");
  s.best_test = number<double>(file, "best_test");
  s.best_temperature = number<float>(file, "best_temperature");
  s.model = read_tensors(file, "model/");
  s.first_moment = read_tensors(file, "first_moment/");
  s.second_moment = read_tensors(file, "second_moment/");
  s.best = read_tensors(file, "best/");
  return checkpoint;
}

}  // namespace spex
