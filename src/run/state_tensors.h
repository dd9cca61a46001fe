// A model's state as tensors of a file.
#pragma once

#include <spex/core/safetensors.h>
#include <spex/train/trainer.h>

#include <string>
#include <vector>

namespace spex {

inline void add_tensors(std::vector<TensorSource>& tensors, const std::string& prefix,
                        const ModelState& state) {
  for (const auto& [name, values] : state)
    tensors.push_back(
        tensor<float>(prefix + name, std::span<const float>(values), {values.size()}));
}

// Begins the names of tensors that say how features were prepared: no model's state.
inline constexpr const char* kPreparationPrefix = "preparation/";

// The state's tensors whose names begin with the prefix, without it.
inline ModelState read_tensors(const Safetensors& file, const std::string& prefix) {
  ModelState state;
  for (const auto& [name, info] : file.tensors()) {
    if (!name.starts_with(prefix) || name.starts_with(kPreparationPrefix)) continue;
    auto values = file.array<float>(name);
    state[name.substr(prefix.size())].assign(values.begin(), values.end());
  }
  return state;
}

}  // namespace spex
