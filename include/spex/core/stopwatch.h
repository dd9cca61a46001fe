// Times, measured and written.
#pragma once

#include <chrono>
#include <string>

namespace spex {

// "7 s", "3 min 05 s", "2 h 10 min".
std::string format_duration(double seconds);

// Seconds since it was made.
class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace spex
