#include <fmt/core.h>
#include <spex/core/stopwatch.h>

#include <cmath>

namespace spex {

std::string format_duration(double seconds) {
  auto total = static_cast<long>(std::lround(seconds));
  if (total < 60) return fmt::format("{} s", total);
  if (total < 3600) return fmt::format("{} min {:02} s", total / 60, total % 60);
  return fmt::format("{} h {:02} min", total / 3600, total / 60 % 60);
}

}  // namespace spex
