// All parameters of a model in one table: optimiser, clipping, checkpoint and parameter count loop
// over it.
#pragma once

#include <spex/tensor/matrix.h>

#include <deque>
#include <string>
#include <string_view>

namespace spex {

struct Parameter {
  std::string name;
  Matrix value;
  Matrix gradient;
};

class Parameters {
 public:
  // Values start at zero; the reference stays valid for the table's life. A name can be used once.
  Parameter& add(std::string name, size_t rows, size_t cols);
  Parameter& at(std::string_view name);

  size_t count() const;  // numbers, not matrices
  void zero_gradients();

  auto begin() { return table_.begin(); }
  auto end() { return table_.end(); }
  auto begin() const { return table_.begin(); }
  auto end() const { return table_.end(); }
  size_t size() const { return table_.size(); }

 private:
  std::deque<Parameter> table_;
};

}  // namespace spex
