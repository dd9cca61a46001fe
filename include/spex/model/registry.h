// The models by name. Adding one is a file of its own, a line in registry.cpp and a test.
#pragma once

#include <spex/model/model.h>
#include <spex/model/recipe.h>

#include <functional>
#include <string>
#include <vector>

namespace spex {

struct ModelInfo {
  std::string name;
  std::string help;  // one line
  Recipe recipe;     // to start from
  std::function<std::unique_ptr<ModelOptions>()> options;
  // The model whose attention scores this one draws by or reads, trained before it; "": none.
  std::string scored_by = "";
};

const std::vector<ModelInfo>& models();
const ModelInfo& find_model(const std::string& name);  // throws, naming the nearest one

}  // namespace spex
