// How far two ways of computing the same thing in single precision may lie apart. Each operation of
// a chain errs by at most half a unit in the last place, u = 2^-24, up or down. Errors of random
// sign add up to no more than lambda sqrt(n) u after n operations, but for a chance of about 2 n
// exp(-lambda^2 / 2) (Higham and Mary, "A new approach to probabilistic rounding error analysis",
// 2019); with lambda = 6 and chains of hundreds that is below one in ten thousand.
#pragma once

#include <cmath>
#include <cstddef>

namespace spex::testing_support {

// Relative to the largest number on the way: both ways may err. `operations` is the length of the
// longest chain of additions, sums over a row of neighbours or a row of weights included.
inline double rounding_difference(size_t operations) {
  constexpr double kLambda = 6, kUnitRoundoff = 0x1p-24;
  return 2 * kLambda * std::sqrt(static_cast<double>(operations)) * kUnitRoundoff;
}

}  // namespace spex::testing_support
