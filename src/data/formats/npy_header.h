// The Python dictionary at the start of an .npy file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace spex {

struct NpyHeader {
  std::string descr;
  bool fortran_order = false;
  std::vector<size_t> shape;
};

// `text` is the dictionary alone; throws an Error that starts with `where`.
NpyHeader parse_npy_header(std::string_view text, const std::string& where);

}  // namespace spex
