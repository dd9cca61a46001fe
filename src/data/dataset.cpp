#include <spex/data/dataset.h>

namespace spex {

size_t feature_count(const Features& features) {
  return std::visit([](const auto& matrix) { return matrix.cols; }, features);
}

}  // namespace spex
