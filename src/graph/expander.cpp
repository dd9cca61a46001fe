#include <spex/core/error.h>
#include <spex/core/log.h>
#include <spex/core/random.h>
#include <spex/core/threads.h>
#include <spex/graph/expander.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace spex {
namespace {

constexpr size_t kRowBlock = 4096;
constexpr size_t kMostEdges = size_t{1} << 31;  // 8 GiB of neighbours

Buffer<EdgeOffset> regular_offsets(size_t nodes, size_t degree) {
  Buffer<EdgeOffset> offsets(nodes + 1, MemoryTag::graph);
  for (size_t i = 0; i <= nodes; ++i) offsets[i] = i * degree;
  return offsets;
}

CsrGraph complete_graph(size_t nodes) {
  size_t degree = nodes == 0 ? 0 : nodes - 1;
  require(
      degree == 0 || nodes <= kMostEdges / degree,
      "full attention over {} nodes takes {:.3g} edges, more than the {:.3g} allowed; choose an "
      "expander of a smaller, even degree",
      nodes, static_cast<double>(nodes) * static_cast<double>(degree),
      static_cast<double>(kMostEdges));
  Buffer<NodeId> neighbours(nodes * degree, MemoryTag::graph);
  parallel_for(nodes, kRowBlock, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i)
      for (size_t j = 0; j < degree; ++j)
        neighbours[i * degree + j] = static_cast<NodeId>(j < i ? j : j + 1);
  });
  return {regular_offsets(nodes, degree), std::move(neighbours), true};
}

// Cycle c writes places 2c and 2c + 1 of every row, so cycles run in parallel without meeting, and
// nothing besides the result is held but one permutation per thread. More than three nodes, so the
// two neighbours on a cycle differ.
CsrGraph union_of_cycles(size_t nodes, size_t cycles, uint64_t seed, int attempt) {
  size_t degree = 2 * cycles;
  Buffer<NodeId> neighbours(nodes * degree, MemoryTag::graph);
  parallel_blocks(cycles, [&](size_t c) {
    Random random(seed, Purpose::expander, static_cast<uint32_t>(attempt),
                  static_cast<uint32_t>(c));
    auto order = random_permutation(nodes, random);
    NodeId before = order.back();
    for (size_t i = 0; i < nodes; ++i) {
      NodeId* places = &neighbours[order[i] * degree + 2 * c];
      places[0] = before;
      places[1] = order[i + 1 < nodes ? i + 1 : 0];
      before = order[i];
    }
  });
  parallel_for(nodes, kRowBlock, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i)
      std::sort(&neighbours[i * degree], &neighbours[i * degree] + degree);
  });
  return {regular_offsets(nodes, degree), std::move(neighbours), true};
}

// A single cycle is known in closed form, and too poor an expander for Lanczos to converge on.
double gap_of_cycles(const CsrGraph& graph, size_t cycles) {
  if (cycles > 1) return spectral_gap(graph);
  return 2.0 - 2.0 * std::cos(2.0 * std::numbers::pi / static_cast<double>(graph.nodes()));
}

Expander best_of_tries(size_t nodes, const ExpanderOptions& options) {
  size_t cycles = options.degree / 2;
  auto degree = static_cast<double>(options.degree);
  Expander best;
  best.required_gap = degree - 2.0 * std::sqrt(degree - 1.0) - 0.1;
  best.checked = nodes <= options.check_up_to_nodes;
  int tries = best.checked ? std::max(1, options.tries) : 1;
  for (int attempt = 0; attempt < tries; ++attempt) {
    CsrGraph graph = union_of_cycles(nodes, cycles, options.seed, attempt);
    double gap = best.checked ? gap_of_cycles(graph, cycles) : 0.0;
    best.tries = attempt + 1;
    if (attempt == 0 || gap > best.spectral_gap) {
      best.graph = std::move(graph);
      best.spectral_gap = gap;
    }
    if (best.spectral_gap >= best.required_gap) break;
  }
  return best;
}

void report(const Expander& expander, size_t nodes, const ExpanderOptions& options) {
  if (!expander.checked)
    log("expander: {} nodes of degree {}, spectral gap not checked above {} nodes", nodes,
        options.degree, options.check_up_to_nodes);
  else
    log("expander: {} nodes of degree {}, spectral gap {:.3f} ({:.3f} wanted{}) after {} {}", nodes,
        options.degree, expander.spectral_gap, expander.required_gap,
        expander.spectral_gap < expander.required_gap ? ", best kept" : "", expander.tries,
        expander.tries == 1 ? "try" : "tries");
}

}  // namespace

Expander make_expander(size_t nodes, const ExpanderOptions& options) {
  Expander expander;
  if (options.degree == 0) {
    expander.graph = {regular_offsets(nodes, 0), {}, true};
    return expander;
  }
  if (options.degree + 1 >= nodes) {
    expander.graph = complete_graph(nodes);
    expander.checked = true;
    expander.spectral_gap = nodes < 2 ? 0.0 : static_cast<double>(nodes);
    log("expander: degree {} joins all pairs of {} nodes", options.degree, nodes);
    return expander;
  }
  require(options.degree % 2 == 0,
          "an expander is made of cycles, so its degree must be even (or {}, for full attention), "
          "not {}",
          nodes - 1, options.degree);
  expander = best_of_tries(nodes, options);
  report(expander, nodes, options);
  return expander;
}

}  // namespace spex
