#include <spex/core/threads.h>
#include <spex/data/structure.h>

#include <cmath>

#include "data/structure/undirected.h"

namespace spex {

Matrix degree_features(const CsrGraph& given) {
  constexpr size_t kRows = 4096;
  CsrGraph graph = undirected(given);
  Matrix values(graph.nodes(), 1, MemoryTag::features);
  parallel_for(graph.nodes(), kRows, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i)
      values(i, 0) = static_cast<float>(std::log1p(static_cast<double>(graph.degree(i))));
  });
  return values;
}

}  // namespace spex
