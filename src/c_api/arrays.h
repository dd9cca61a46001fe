// The caller's arrays: checked, and read as numbers of one type.
#pragma once

#include <spex/core/error.h>
#include <spex/core/half.h>
#include <spex/spex.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

namespace spex::c_api {

bool present(const spex_array& array);
size_t rows(const spex_array& array);
size_t columns(const spex_array& array);   // 1 for one dimension
bool is_integer(const spex_array& array);  // bool excluded
bool is_packed(const spex_array& array, spex_type type);

// Throws, beginning with `what`, unless there is an array of a known type with one of these numbers
// of dimensions, and something to read where it is not empty.
void check_array(const spex_array& array, const std::string& what, int least_dimensions,
                 int most_dimensions);
void check_integers(const spex_array& array, const std::string& what, int dimensions);

template <class T>
struct Typed {
  const char* data;
  ptrdiff_t row, column;
  auto operator()(size_t i, size_t j = 0) const {
    T value;  // by bytes: strides need not keep elements aligned
    std::memcpy(&value, data + row * static_cast<ptrdiff_t>(i) + column * static_cast<ptrdiff_t>(j),
                sizeof value);
    if constexpr (std::is_same_v<T, Half>) {
      float wide = 0;
      to_float({&wide, 1}, {&value, 1});
      return wide;
    } else {
      return value;
    }
  }
};

// Calls use(element), element(i, j) being a number of the array's own type; bool is 0 or 1.
template <class Use>
void visit(const spex_array& a, Use&& use) {
  const char* data = static_cast<const char*>(a.data);
  ptrdiff_t row = a.strides[0], column = a.dimensions > 1 ? a.strides[1] : 0;
  switch (a.type) {
    case SPEX_BOOL:
    case SPEX_UINT8:
      return use(Typed<uint8_t>{data, row, column});
    case SPEX_INT8:
      return use(Typed<int8_t>{data, row, column});
    case SPEX_INT16:
      return use(Typed<int16_t>{data, row, column});
    case SPEX_INT32:
      return use(Typed<int32_t>{data, row, column});
    case SPEX_INT64:
      return use(Typed<int64_t>{data, row, column});
    case SPEX_UINT16:
      return use(Typed<uint16_t>{data, row, column});
    case SPEX_UINT32:
      return use(Typed<uint32_t>{data, row, column});
    case SPEX_UINT64:
      return use(Typed<uint64_t>{data, row, column});
    case SPEX_FLOAT16:
      return use(Typed<Half>{data, row, column});
    case SPEX_FLOAT32:
      return use(Typed<float>{data, row, column});
    case SPEX_FLOAT64:
      return use(Typed<double>{data, row, column});
  }
  fail("an array has the unknown type {}", a.type);
}

// An id of any integer type, or a refusal that names its place.
template <class Id, class Place>
uint32_t node_of(Id id, size_t nodes, Place&& place) {
  bool negative = false;
  if constexpr (std::is_signed_v<Id>) negative = id < 0;
  if (negative || static_cast<uint64_t>(id) >= nodes)
    fail("{} names node {}, but nodes are 0 to {}", place(), id, static_cast<int64_t>(nodes) - 1);
  return static_cast<uint32_t>(id);
}

}  // namespace spex::c_api
