#include <spex/core/error.h>
#include <spex/tensor/parameters.h>

#include <algorithm>

namespace spex {

Parameter& Parameters::add(std::string name, size_t rows, size_t cols) {
  for (const Parameter& parameter : table_)
    require(parameter.name != name, "two parameters are called {}", name);
  table_.push_back({std::move(name), Matrix::zeros(rows, cols, MemoryTag::parameters),
                    Matrix::zeros(rows, cols, MemoryTag::parameters)});
  return table_.back();
}

Parameter& Parameters::at(std::string_view name) {
  auto found = std::find_if(table_.begin(), table_.end(),
                            [&](const Parameter& parameter) { return parameter.name == name; });
  require(found != table_.end(), "there is no parameter called {}", name);
  return *found;
}

size_t Parameters::count() const {
  size_t count = 0;
  for (const Parameter& parameter : table_) count += parameter.value.size();
  return count;
}

void Parameters::zero_gradients() {
  for (Parameter& parameter : table_) fill(parameter.gradient, 0.0F);
}

}  // namespace spex
