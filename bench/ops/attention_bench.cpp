// Attention against the rate at which this machine reads random rows. An edge needs one row in
// forward and two in backward (keys and values for the query, query and gradient for the key).
#include <fmt/core.h>
#include <spex/core/error.h>
#include <spex/ops/attention.h>

#include <cmath>

#include "machine.h"

namespace spex {
namespace {

using bench::median_seconds;
using bench::noise;

// Every node has `degree` random neighbours of one type. Not symmetric: the transpose is another
// graph of the same kind, which is all that speed depends on.
AttentionGraph random_graph(size_t nodes, size_t degree, uint64_t seed) {
  Buffer<NodeId> neighbours(nodes * degree, MemoryTag::graph);
  Random random(seed, Purpose::test);
  parallel_for(neighbours.size() / 4, 1 << 16, [&](size_t begin, size_t end) {
    std::vector<uint32_t> words(4 * (end - begin));
    random.fill(words, begin);
    for (size_t i = 0; i < words.size(); ++i)
      neighbours[4 * begin + i] = static_cast<NodeId>((uint64_t{words[i]} * nodes) >> 32);
  });
  Buffer<EdgeOffset> offsets(nodes + 1, MemoryTag::graph);
  for (size_t i = 0; i <= nodes; ++i) offsets[i] = i * degree;
  AttentionGraph graph;
  graph.offsets = std::move(offsets);
  graph.neighbours = std::move(neighbours);
  graph.types = 1;
  return graph;
}

Var total(Tape& tape, const Var& y) {
  return tape.result(Matrix::zeros(1, 1, MemoryTag::other), {y},
                     [dy = y.gradient(), rows = y.rows(), cols = y.cols()](ConstMatrixView) {
                       Matrix ones(rows, cols, MemoryTag::gradients);
                       fill(ones, 1.0F);
                       dy->give(std::move(ones));
                     });
}

// A row of the result against the definition, in double precision.
void check_row(ConstMatrixView out, ConstMatrixView q, ConstMatrixView k, ConstMatrixView v,
               std::span<const NodeId> neighbours, size_t row) {
  std::vector<double> expected(q.cols, 0.0);
  double sum = 1e-6;
  for (NodeId j : neighbours) {
    double score = 0;
    for (size_t d = 0; d < q.cols; ++d) score += double{q(row, d)} * k(j, d);
    double w = std::exp(std::clamp(score / std::sqrt(double(q.cols)), -8.0, 8.0));
    sum += w;
    for (size_t d = 0; d < q.cols; ++d) expected[d] += w * v(j, d);
  }
  for (size_t d = 0; d < q.cols; ++d)
    require(std::abs(out(row, d) - expected[d] / sum) < 1e-5, "wrong result in row {}", row);
}

struct Times {
  double forward, both;
};

Times measure(const Matrix& q, const Matrix& k, const Matrix& v,
              const std::function<Var(Tape&, const AttentionInputs&)>& attend) {
  Times times{};
  times.forward = median_seconds([&] {
    Tape tape(false);
    attend(tape,
           {tape.constant(q.view()), tape.constant(k.view()), tape.constant(v.view()), {}, {}, {}});
  });
  auto clone = [](const Matrix& m) {
    Matrix copy_(m.rows(), m.cols(), MemoryTag::other);
    copy(copy_, m);
    return copy_;
  };
  times.both = median_seconds([&] {
    Tape tape;
    AttentionInputs in{
        tape.variable(clone(q)), tape.variable(clone(k)), tape.variable(clone(v)), {}, {}, {}};
    Var out = attend(tape, in);
    tape.backward(total(tape, out));
  });
  return times;
}

void sparse(size_t nodes, size_t degree, size_t width) {
  AttentionGraph graph = random_graph(nodes, degree, 1),
                 transposed = random_graph(nodes, degree, 2);
  Matrix q = noise(nodes, width, 1), k = noise(nodes, width, 2), v = noise(nodes, width, 3);
  auto attend = [&](Tape& tape, const AttentionInputs& in) {
    return sparse_attention(tape, in, graph, transposed, {});
  };
  {
    Tape tape(false);
    Var out = attend(
        tape,
        {tape.constant(q.view()), tape.constant(k.view()), tape.constant(v.view()), {}, {}, {}});
    for (size_t row : {size_t{0}, nodes / 2, nodes - 1})
      check_row(out.value(), q, k, v, graph.neighbours.span().subspan(graph.offsets[row], degree),
                row);
  }
  Times times = measure(q, k, v, attend);
  Buffer<uint32_t> ids(graph.edges(), MemoryTag::other);
  std::copy(graph.neighbours.begin(), graph.neighbours.end(), ids.begin());
  size_t row_floats = std::max<size_t>(16, 2 * width);
  double limit = bench::random_rows_per_second(nodes, row_floats, ids);
  double edges = static_cast<double>(graph.edges());
  fmt::print(
      "sparse  {:>9} nodes x {:>3}, width {:>3}: forward {:5.2f} ns/edge ({:3.0f}% of the limit), "
      "forward+backward {:5.2f} ns/edge ({:3.0f}%); limit {:4.0f} M rows/s of {} bytes\n",
      nodes, degree, width, 1e9 * times.forward / edges, 100 * edges / times.forward / limit,
      1e9 * times.both / edges, 100 * 3 * edges / times.both / limit, limit * 1e-6, 4 * row_floats);
}

void regular(size_t queries, size_t degree, size_t heads, size_t width) {
  AttentionGraph graph = random_graph(queries, degree, 1);
  NeighbourMatrix pattern;
  pattern.queries = pattern.sources = queries;
  pattern.k = degree;
  pattern.types = 1;
  pattern.indices = Buffer<NodeId>(queries * degree, MemoryTag::graph);
  pattern.ends = Buffer<uint16_t>(queries, MemoryTag::graph);
  std::copy(graph.neighbours.begin(), graph.neighbours.end(), pattern.indices.begin());
  std::fill(pattern.ends.begin(), pattern.ends.end(), static_cast<uint16_t>(degree));
  Matrix q = noise(queries, width, 1), k = noise(queries, width, 2), v = noise(queries, width, 3);
  AttentionOptions options;
  options.heads = heads;
  auto attend = [&](Tape& tape, const AttentionInputs& in) {
    return regular_attention(tape, in, pattern, options);
  };
  if (heads == 1) {
    Tape tape(false);
    Var out = attend(
        tape,
        {tape.constant(q.view()), tape.constant(k.view()), tape.constant(v.view()), {}, {}, {}});
    check_row(out.value(), q, k, v, graph.neighbours.span().subspan(7 * degree, degree), 7);
  }
  Times times = measure(q, k, v, attend);
  Buffer<uint32_t> ids(graph.edges(), MemoryTag::other);
  std::copy(graph.neighbours.begin(), graph.neighbours.end(), ids.begin());
  double limit = bench::random_rows_per_second(queries, 2 * width, ids);
  double edges = static_cast<double>(graph.edges());
  fmt::print(
      "regular {:>9} queries x {:>2}, {} heads, width {:>3}: forward {:5.2f} ns/edge ({:3.0f}% of "
      "the "
      "limit), forward+backward {:5.2f} ns/edge ({:3.0f}%); limit {:4.0f} M rows/s of {} bytes\n",
      queries, degree, heads, width, 1e9 * times.forward / edges,
      100 * edges / times.forward / limit, 1e9 * times.both / edges,
      100 * 3 * edges / times.both / limit, limit * 1e-6, 8 * width);
}

void scaling() {
  auto seconds = [](int count) {
    set_threads(count);
    AttentionGraph graph = random_graph(200'000, 80, 1), transposed = random_graph(200'000, 80, 2);
    Matrix q = noise(200'000, 8, 1), k = noise(200'000, 8, 2), v = noise(200'000, 8, 3);
    return measure(q, k, v,
                   [&](Tape& tape, const AttentionInputs& in) {
                     return sparse_attention(tape, in, graph, transposed, {});
                   })
        .both;
  };
  double one = seconds(1), two = seconds(2);
  set_threads(0);
  fmt::print("scaling from 1 to 2 threads, 200000 nodes x 80, width 8, forward+backward: {:.2f}\n",
             one / two);
}

}  // namespace
}  // namespace spex

int main(int argc, char**) {
  using namespace spex;  // NOLINT
  sparse(10'000, 320, 8);
  sparse(10'000, 320, 4);
  sparse(10'000, 320, 64);
  sparse(170'000, 45, 8);
  regular(10'000, 10, 4, 32);
  regular(100'000, 10, 1, 128);
  regular(170'000, 6, 2, 96);
  scaling();
  if (argc < 2) sparse(2'400'000, 80, 8);
}
