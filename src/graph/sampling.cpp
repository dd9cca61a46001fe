#include <spex/graph/sampling.h>

namespace spex {

std::string_view name(Sampling sampling) {
  return sampling == Sampling::weighted  ? "weighted"
         : sampling == Sampling::uniform ? "uniform"
                                         : "top";
}

}  // namespace spex
