// The one exception type. Its message is a sentence a user can act on: what was being done, what
// was expected, what came, what to do.
#pragma once

#include <fmt/core.h>  // not format.h: every file of the project reads this one

#include <stdexcept>
#include <string>
#include <utility>

namespace spex {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

namespace detail {
[[noreturn]] void throw_error(fmt::string_view format, fmt::format_args args);
}

template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  detail::throw_error(format, fmt::make_format_args(args...));
}

// For checks on what callers pass in: `require(a == b, "gather: {} rows, index {}", rows, index)`.
template <class... Args>
void require(bool condition, fmt::format_string<Args...> format, Args&&... args) {
  if (!condition) fail(format, std::forward<Args>(args)...);
}

}  // namespace spex
