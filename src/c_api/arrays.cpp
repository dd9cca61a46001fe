#include "c_api/arrays.h"

namespace spex::c_api {
namespace {

size_t size_of(int type) {
  switch (type) {
    case SPEX_BOOL:
    case SPEX_INT8:
    case SPEX_UINT8:
      return 1;
    case SPEX_INT16:
    case SPEX_UINT16:
    case SPEX_FLOAT16:
      return 2;
    case SPEX_INT32:
    case SPEX_UINT32:
    case SPEX_FLOAT32:
      return 4;
    case SPEX_INT64:
    case SPEX_UINT64:
    case SPEX_FLOAT64:
      return 8;
  }
  return 0;
}

}  // namespace

bool present(const spex_array& array) {
  return array.dimensions != 0;
}

size_t rows(const spex_array& array) {
  return array.shape[0];
}

size_t columns(const spex_array& array) {
  return array.dimensions > 1 ? array.shape[1] : 1;
}

bool is_integer(const spex_array& array) {
  return array.type >= SPEX_INT8 && array.type <= SPEX_UINT64;
}

bool is_packed(const spex_array& array, spex_type type) {
  auto size = static_cast<ptrdiff_t>(size_of(type));
  auto aligned = reinterpret_cast<uintptr_t>(array.data) % static_cast<uintptr_t>(size) == 0;
  if (array.type != type || !aligned) return false;
  if (array.dimensions == 1) return array.strides[0] == size || rows(array) <= 1;
  auto width = static_cast<ptrdiff_t>(columns(array)) * size;
  return (array.strides[1] == size || columns(array) <= 1) &&
         (array.strides[0] == width || rows(array) <= 1);
}

void check_array(const spex_array& array, const std::string& what, int least_dimensions,
                 int most_dimensions) {
  std::string expected = least_dimensions == most_dimensions
                             ? fmt::format("{}", least_dimensions)
                             : fmt::format("{} or {}", least_dimensions, most_dimensions);
  require(array.dimensions >= least_dimensions && array.dimensions <= most_dimensions,
          "{}: expected {} dimension{}, got {}", what, expected, most_dimensions > 1 ? "s" : "",
          array.dimensions);
  require(size_of(array.type) > 0, "{}: the type {} is not known", what, array.type);
  require(array.data || rows(array) * columns(array) == 0, "{}: the data is NULL", what);
}

void check_integers(const spex_array& array, const std::string& what, int dimensions) {
  check_array(array, what, dimensions, dimensions);
  require(is_integer(array), "{}: expected whole numbers, got {}", what,
          array.type == SPEX_BOOL ? "true and false" : "floating point numbers");
}

}  // namespace spex::c_api
