// Sums and additive attention over neighbourhoods against the rate at which this machine reads
// random rows: an edge needs one row in forward and, in backward, one (sums) or two (attention).
#include <fmt/format.h>
#include <spex/core/error.h>
#include <spex/ops/additive_attention.h>
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

// An input that wants a gradient, without a copy of its values.
Var input(Tape& tape, const Matrix& values) {
  return {std::make_shared<const Value>(values.view()),
          tape.recording() ? std::make_shared<Gradient>() : nullptr};
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

// `run` gives an operation's result for a tape that records or not. Making the gradient that enters
// counts as part of backward.
template <class Run>
Times measure(Run&& run) {
  double forward = median_seconds([&] {
    Tape tape(false);
    run(tape);
  });
  double both = median_seconds([&] {
    Tape tape;
    Var y = run(tape);
    Matrix dy(y.rows(), y.cols(), MemoryTag::gradients);
    fill(dy, 1.0F);
    tape.backward(std::move(y), std::move(dy));
  });
  return {forward, both - forward};
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
    return [&](Tape& tape) { return aggregate(tape, input(tape, x), graphs.pattern(), weights); };
  };
  Tape tape(false);
  Var y = run(symmetric)(tape);
  for (size_t row : {size_t{0}, nodes / 2, nodes - 1}) check_row(graphs, y.value(), x, factor, row);
  print("aggregate, mean", graphs, width, measure(run(mean)), 1);
  print("aggregate, both factors", graphs, width, measure(run(symmetric)), 1);
}

void check_attention(const Graphs& graphs, ConstMatrixView y, const Matrix& s, const Matrix& source,
                     const Matrix& query, size_t row) {
  size_t heads = source.cols(), width = s.cols() / heads;
  for (size_t c = 0; c < s.cols(); ++c) {
    size_t h = c / width;
    double sum = 0, weighted = 0;
    for (size_t e = graphs.graph.offsets[row]; e < graphs.graph.offsets[row + 1]; ++e) {
      NodeId j = graphs.graph.neighbours[e];
      double z = double{source(j, h)} + query(row, h);
      double w = std::exp(z > 0 ? z : 0.2 * z);
      sum += w;
      weighted += w * s(j, c);
    }
    require(std::abs(y(row, c) - weighted / sum) < 1e-5, "wrong attention in row {}", row);
  }
}

void attention(size_t nodes, size_t degree, size_t heads, size_t width) {
  Graphs graphs(nodes, degree);
  Matrix s = noise(nodes, heads * width, 1), source = noise(nodes, heads, 2),
         query = noise(nodes, heads, 3);
  auto run = [&](Tape& tape) {
    return additive_attention(tape, {input(tape, s), input(tape, source), input(tape, query)},
                              graphs.pattern());
  };
  Tape tape(false);
  Var y = run(tape);
  for (size_t row : {size_t{0}, nodes / 2, nodes - 1})
    check_attention(graphs, y.value(), s, source, query, row);
  std::string what = fmt::format("attention, {} x {}", heads, width);
  print(what.c_str(), graphs, heads * width, measure(run), 2);
}

}  // namespace
}  // namespace spex

int main() {
  using namespace spex;  // NOLINT
  sums(200'000, 25, 64);
  sums(12'000, 88, 64);
  sums(12'000, 88, 512);
  sums(10'000, 8, 64);
  for (size_t heads : {1, 2, 4, 8}) attention(200'000, 25, heads, 64 / heads);
  for (size_t heads : {1, 4, 8}) attention(12'000, 88, heads, 64 / heads);
  attention(12'000, 88, 16, 60);
  attention(10'000, 8, 4, 16);
}
