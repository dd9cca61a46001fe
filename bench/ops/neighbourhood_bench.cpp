// Sums and additive attention over neighbourhoods against the rate at which this machine reads
// random rows: an edge of aggregate needs one row in forward and one in backward.
#include <fmt/format.h>
#include <spex/core/error.h>
#include <spex/ops/aggregate.h>

#include <cmath>

#include "machine.h"

namespace spex {
namespace {

using bench::median_seconds;
using bench::noise;

// Every node has `degree` random neighbours. The transpose is another graph of the same kind, which
// is all that speed depends on.
AttentionGraph random_graph(size_t nodes, size_t degree, uint64_t seed) {
  Buffer<NodeId> neighbours(nodes * degree, MemoryTag::graph);
  Random random(seed, Purpose::test);
  parallel_for(neighbours.size(), 1 << 16, [&](size_t begin, size_t end) {
    for (size_t e = begin; e < end; ++e)
      neighbours[e] = static_cast<NodeId>(random.below(nodes, e));
  });
  Buffer<EdgeOffset> offsets(nodes + 1, MemoryTag::graph);
  for (size_t i = 0; i <= nodes; ++i) offsets[i] = i * degree;
  AttentionGraph graph;
  graph.offsets = std::move(offsets);
  graph.neighbours = std::move(neighbours);
  graph.types = 1;
  return graph;
}

Matrix clone(const Matrix& from) {
  Matrix matrix(from.rows(), from.cols(), MemoryTag::other);
  copy(matrix, from);
  return matrix;
}

struct Graphs {
  Graphs(size_t nodes, size_t degree)
      : graph(random_graph(nodes, degree, 1)), transposed(random_graph(nodes, degree, 2)) {}
  Pattern pattern() const { return Pattern::all_rows(graph, transposed); }
  double edges() const { return static_cast<double>(graph.edges()); }
  // Rows of `floats` numbers that can be read per second in the order of the edges.
  double limit(size_t floats) const {
    Buffer<uint32_t> ids(graph.edges(), MemoryTag::other);
    std::copy(graph.neighbours.begin(), graph.neighbours.end(), ids.begin());
    return bench::random_rows_per_second(graph.nodes(), floats, ids);
  }
  AttentionGraph graph, transposed;
};

struct Times {
  double forward, backward;
};

// `run` gives an operation's result for a tape that records or not.
template <class Run>
Times measure(Run&& run) {
  double forward = median_seconds([&] {
    Tape tape(false);
    run(tape);
  });
  std::vector<double> backward;
  for (int round = 0; round < 6; ++round) {
    Tape tape;
    Var y = run(tape);
    Matrix dy = noise(y.rows(), y.cols(), 9);
    auto begin = std::chrono::steady_clock::now();
    tape.backward(std::move(y), std::move(dy));
    backward.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  std::sort(backward.begin() + 1, backward.end());  // the first warms up
  return {forward, backward[backward.size() / 2]};
}

void print(const char* what, const Graphs& graphs, size_t width, const Times& times,
           double backward_rows) {
  double limit = graphs.limit(width);
  fmt::print(
      "{:24} {:>7} nodes x {:>3}, width {:>3}: forward {:6.1f} ms ({:3.0f}% of the limit), "
      "backward {:6.1f} ms ({:3.0f}%); limit {:4.0f} M rows/s = {:.1f} GB/s\n",
      what, graphs.graph.nodes(), graphs.graph.edges() / graphs.graph.nodes(), width,
      1e3 * times.forward, 100 * graphs.edges() / times.forward / limit, 1e3 * times.backward,
      100 * backward_rows * graphs.edges() / times.backward / limit, limit * 1e-6,
      4e-9 * limit * static_cast<double>(width));
}

void check_row(const Graphs& graphs, ConstMatrixView y, const Matrix& x, const Matrix& factor,
               size_t row) {
  for (size_t c = 0; c < x.cols(); ++c) {
    double sum = 0;
    for (size_t e = graphs.graph.offsets[row]; e < graphs.graph.offsets[row + 1]; ++e) {
      NodeId j = graphs.graph.neighbours[e];
      sum += double{factor(0, row)} * factor(0, j) * x(j, c);
    }
    require(std::abs(y(row, c) - sum) < 1e-4, "wrong sum in row {}", row);
  }
}

void sums(size_t nodes, size_t degree, size_t width) {
  Graphs graphs(nodes, degree);
  Matrix x = noise(nodes, width, 1), factor = noise(1, nodes, 2);
  AggregateWeights mean{.per_query = factor.span()};
  AggregateWeights symmetric{.per_query = factor.span(), .per_source = factor.span()};
  auto run = [&](const AggregateWeights& weights) {
    return [&](Tape& tape) {
      return aggregate(tape, tape.variable(clone(x)), graphs.pattern(), weights);
    };
  };
  Tape tape(false);
  Var y = run(symmetric)(tape);
  for (size_t row : {size_t{0}, nodes / 2, nodes - 1}) check_row(graphs, y.value(), x, factor, row);
  print("aggregate, mean", graphs, width, measure(run(mean)), 1);
  print("aggregate, both factors", graphs, width, measure(run(symmetric)), 1);
}

}  // namespace
}  // namespace spex

int main() {
  using namespace spex;  // NOLINT
  sums(200'000, 25, 64);
  sums(12'000, 88, 64);
  sums(12'000, 88, 512);
  sums(10'000, 8, 64);
}
