#include <spex/core/error.h>

namespace spex::detail {

void throw_error(fmt::string_view format, fmt::format_args args) {
  throw Error(fmt::vformat(format, args));
}

}  // namespace spex::detail
