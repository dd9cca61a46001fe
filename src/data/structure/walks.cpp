// Return probabilities of random walks, P = D^-1 A. Since the graph is undirected,
// d_i P^m(i, j) = d_j P^m(j, i), and a walk of a + b steps that comes back is two halves that meet:
//
//   P^(a+b)(i, i) = sum_j P^a(i, j) P^b(j, i) = sum_j P^a(i, j) P^b(i, j) d_i / d_j
//
// so that half the steps are enough. The exact way spreads from a block of starts at once; the
// other way draws walks and counts how often two different ones meet, which is unbiased, and has
// the square of the walks as its sample.

#include <spex/core/error.h>
#include <spex/core/random.h>
#include <spex/core/threads.h>
#include <spex/data/structure.h>

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "data/structure/undirected.h"

namespace spex {
namespace {

constexpr size_t kStarts = 32;          // in a block of the exact way
constexpr size_t kNodes = 256;          // in a block of the other
using WalkBlock = std::vector<double>;  // nodes x kStarts

// next(j, s) = sum over neighbours k of j of now(k, s) / d_k: one step of all starts.
void spread(WalkBlock& next, const WalkBlock& now, const CsrGraph& graph,
            const std::vector<double>& inverse) {
  for (size_t j = 0; j < graph.nodes(); ++j) {
    double sum[kStarts] = {};
    for (NodeId k : graph.row(j))
      for (size_t s = 0; s < kStarts; ++s) sum[s] += now[k * kStarts + s] * inverse[k];
    std::copy_n(sum, kStarts, &next[j * kStarts]);
  }
}

// out(i, .) for steps a + b, from where the halves are.
void meet(Matrix& out, size_t column, const WalkBlock& a, const WalkBlock& b, size_t first,
          size_t count, const CsrGraph& graph, const std::vector<double>& inverse) {
  double sum[kStarts] = {};
  for (size_t j = 0; j < graph.nodes(); ++j)
    for (size_t s = 0; s < kStarts; ++s)
      sum[s] += a[j * kStarts + s] * b[j * kStarts + s] * inverse[j];
  for (size_t s = 0; s < count; ++s)
    out(first + s, column) =
        static_cast<float>(sum[s] * static_cast<double>(graph.degree(first + s)));
}

void exact_block(Matrix& out, size_t first, const CsrGraph& graph,
                 const std::vector<double>& inverse) {
  size_t count = std::min(kStarts, graph.nodes() - first);
  WalkBlock now(graph.nodes() * kStarts), next(now.size());
  for (size_t s = 0; s < count; ++s) now[(first + s) * kStarts + s] = 1.0;
  for (size_t step = 1; step <= out.cols(); step += 2) {
    spread(next, now, graph, inverse);
    meet(out, step - 1, now, next, first, count, graph, inverse);
    if (step + 1 <= out.cols()) meet(out, step, next, next, first, count, graph, inverse);
    std::swap(now, next);
  }
}

// Where the walks from one node are after 0, 1, .. steps: walks x (half + 1).
void draw_walks(std::vector<NodeId>& places, NodeId start, size_t walks, size_t half,
                const CsrGraph& graph, const Random& random) {
  for (size_t w = 0; w < walks; ++w) {
    NodeId at = places[w * (half + 1)] = start;
    for (size_t step = 1; step <= half; ++step) {
      uint64_t index = (static_cast<uint64_t>(start) * walks + w) * half + step - 1;
      auto row = graph.row(at);
      places[w * (half + 1) + step] = at = row[random.below(row.size(), index)];
    }
  }
}

// The share of pairs of different walks, one after a steps and one after b, that meet.
double meeting_share(const std::vector<NodeId>& places, size_t walks, size_t half, size_t a,
                     size_t b, double degree, const std::vector<double>& inverse,
                     std::unordered_map<NodeId, uint32_t>& counts) {
  counts.clear();
  for (size_t w = 0; w < walks; ++w) ++counts[places[w * (half + 1) + b]];
  double sum = 0;
  for (size_t w = 0; w < walks; ++w) {
    NodeId place = places[w * (half + 1) + a];
    auto found = counts.find(place);
    if (found == counts.end()) continue;
    double others = found->second - (places[w * (half + 1) + b] == place ? 1.0 : 0.0);
    sum += others * inverse[place];
  }
  double pairs = static_cast<double>(walks) * static_cast<double>(walks - 1);
  return std::min(1.0, sum * degree / pairs);
}

void draw_rows(Matrix& out, size_t begin, size_t end, const CsrGraph& graph,
               const std::vector<double>& inverse, const WalkOptions& options) {
  size_t half = (options.steps + 1) / 2;
  Random random(options.seed, Purpose::sampling, ~0U);
  std::vector<NodeId> places(options.walks * (half + 1));
  std::unordered_map<NodeId, uint32_t> counts;
  for (size_t i = begin; i < end; ++i) {
    if (graph.degree(i) == 0) continue;
    draw_walks(places, static_cast<NodeId>(i), options.walks, half, graph, random);
    for (size_t step = 1; step <= options.steps; ++step)
      out(i, step - 1) =
          static_cast<float>(meeting_share(places, options.walks, half, step / 2, (step + 1) / 2,
                                           static_cast<double>(graph.degree(i)), inverse, counts));
  }
}

}  // namespace

WalkFeatures walk_features(const CsrGraph& given, const WalkOptions& options) {
  require(options.steps > 0 && options.walks > 1, "walks need at least one step and two walks");
  CsrGraph graph = undirected(given);
  size_t nodes = graph.nodes();
  std::vector<double> inverse(nodes);
  for (size_t i = 0; i < nodes; ++i)
    inverse[i] = graph.degree(i) == 0 ? 0.0 : 1.0 / static_cast<double>(graph.degree(i));
  WalkFeatures result{Matrix::zeros(nodes, options.steps, MemoryTag::features), true};
  double work = static_cast<double>(nodes) * static_cast<double>(graph.edges() + nodes) *
                static_cast<double>(options.steps) / 2;
  result.exact = work <= options.exact_up_to;
  if (result.exact)
    parallel_blocks((nodes + kStarts - 1) / kStarts,
                    [&](size_t b) { exact_block(result.values, b * kStarts, graph, inverse); });
  else
    parallel_for(nodes, kNodes, [&](size_t begin, size_t end) {
      draw_rows(result.values, begin, end, graph, inverse, options);
    });
  return result;
}

}  // namespace spex
