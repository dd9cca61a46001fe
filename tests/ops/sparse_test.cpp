// The products with a sparse left side: sparse features times a weight, a graph times values.
#include <spex/core/error.h>
#include <spex/ops/linear.h>
#include <spex/ops/spmm.h>

#include <cmath>

#include "double_reference.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

template <class T>
SharedArray<T> shared(const std::vector<T>& values) {
  Buffer<T> buffer(values.size(), MemoryTag::other);
  std::copy(values.begin(), values.end(), buffer.begin());
  return buffer;
}

// Random entries with the given density; row 0 is full, row 1 (if any) is empty.
SparseMatrix random_sparse(size_t rows, size_t cols, double density) {
  Random random(8, Purpose::test);
  std::vector<uint64_t> offsets = {0};
  std::vector<uint32_t> columns;
  std::vector<float> values;
  for (size_t r = 0; r < rows; ++r) {
    for (size_t c = 0; c < cols; ++c)
      if (r == 0 || (r != 1 && random.uniform(r * cols + c) < density)) {
        columns.push_back(static_cast<uint32_t>(c));
        values.push_back(static_cast<float>(random.normal(1000000 + columns.size())));
      }
    offsets.push_back(columns.size());
  }
  return {rows, cols, shared(offsets), shared(columns), shared(values)};
}

DoubleProgram sparse_linear_program(const SparseMatrix& x, size_t out) {
  return [&x, out](const Doubles& in) {
    std::vector<double> y(x.rows * out);
    for (size_t r = 0; r < x.rows; ++r)
      for (size_t o = 0; o < out; ++o) {
        double sum = in[1][o];
        for (size_t e = x.offsets[r]; e < x.offsets[r + 1]; ++e)
          sum += x.values[e] * in[0][x.columns[e] * out + o];
        y[r * out + o] = sum;
      }
    return y;
  };
}

TEST(SparseLinear, MatchesDoublePrecisionForwardAndBackward) {
  for (size_t rows : {1, 90})
    for (size_t out : kWidths) {
      SCOPED_TRACE(std::to_string(rows) + " rows, " + std::to_string(out) + " outputs");
      SparseMatrix x = random_sparse(rows, 41, 0.1);
      on_every_isa([&] {
        expect_matches(
            matrices(random_matrix(41, out, 1), random_matrix(1, out, 2)),
            [&](Tape& tape, std::vector<Var>& in) { return linear(tape, x, in[0], in[1]); },
            sparse_linear_program(x, out));
      });
    }
}

TEST(SparseLinear, SameBytesForAnyThreadCount) {
  SparseMatrix x = random_sparse(5000, 300, 0.02);
  expect_same_bytes_for_any_thread_count(
      matrices(random_matrix(300, 20, 1), random_matrix(1, 20, 2)),
      [&](Tape& tape, std::vector<Var>& in) { return linear(tape, x, in[0], in[1]); });
}

TEST(SparseLinear, WorksWithoutBiasAndRejectsAWeightOfAnotherHeight) {
  SparseMatrix x = random_sparse(6, 5, 0.5);
  check_gradients(matrices(random_matrix(5, 3, 1)),
                  [&](Tape& tape, std::vector<Var>& in) { return linear(tape, x, in[0]); });
  Tape tape;
  EXPECT_THROW(linear(tape, x, tape.variable(random_matrix(4, 3, 1))), Error);
}

// Nodes 0 .. n-1; node 0 is joined to all of 2 .. n-1, node 1 is isolated, the rest at random.
CsrGraph random_graph(size_t nodes, bool symmetric, bool transposed = false) {
  Random random(9, Purpose::test);
  std::vector<std::vector<bool>> edge(nodes, std::vector<bool>(nodes));
  for (size_t i = 0; i < nodes; ++i)
    for (size_t j = 0; j < nodes; ++j) {
      bool here = i != 1 && j != 1 && (i == 0 || random.uniform(i * nodes + j) < 0.05);
      if (here) edge[transposed ? j : i][transposed ? i : j] = true;
      if (here && symmetric) edge[j][i] = true;
    }
  std::vector<EdgeOffset> offsets = {0};
  std::vector<NodeId> neighbours;
  for (size_t i = 0; i < nodes; ++i) {
    for (size_t j = 0; j < nodes; ++j)
      if (edge[i][j]) neighbours.push_back(static_cast<NodeId>(j));
    offsets.push_back(neighbours.size());
  }
  return {shared(offsets), shared(neighbours), symmetric};
}

DoubleProgram spmm_program(const CsrGraph& graph, size_t cols, Normalisation normalisation) {
  return [&graph, cols, normalisation](const Doubles& in) {
    std::vector<double> y(graph.nodes() * cols, 0.0);
    for (size_t i = 0; i < graph.nodes(); ++i)
      for (NodeId j : graph.row(i)) {
        double di = double(graph.degree(i)), dj = double(graph.degree(j));
        double weight = normalisation == Normalisation::none   ? 1.0
                        : normalisation == Normalisation::mean ? 1.0 / di
                        : dj == 0                              ? 0.0
                                                               : 1.0 / std::sqrt(di * dj);
        for (size_t c = 0; c < cols; ++c) y[i * cols + c] += weight * in[0][j * cols + c];
      }
    return y;
  };
}

TEST(Spmm, MatchesDoublePrecisionForSymmetricAndDirectedGraphs) {
  for (bool symmetric : {true, false}) {
    CsrGraph graph = random_graph(60, symmetric), back = random_graph(60, symmetric, true);
    for (auto n : {Normalisation::none, Normalisation::mean, Normalisation::symmetric})
      for (size_t cols : kWidths)
        on_every_isa([&] {
          expect_matches(
              matrices(random_matrix(60, cols, 1)),
              [&](Tape& tape, std::vector<Var>& in) {
                return spmm(tape, graph, in[0], n, symmetric ? nullptr : &back);
              },
              spmm_program(graph, cols, n));
        });
  }
}

TEST(Spmm, OneNodeAndSeveralUsesOfTheSameValue) {
  CsrGraph one = {shared<EdgeOffset>({0, 1}), shared<NodeId>({0}), true};
  check_gradients(matrices(random_matrix(1, 5, 1)), [&](Tape& tape, std::vector<Var>& in) {
    Var twice = spmm(tape, one, in[0], Normalisation::mean);
    return spmm(tape, one, twice, Normalisation::symmetric);
  });
}

TEST(Spmm, SameBytesForAnyThreadCount) {
  CsrGraph graph = random_graph(800, true);
  expect_same_bytes_for_any_thread_count(
      matrices(random_matrix(800, 24, 1)), [&](Tape& tape, std::vector<Var>& in) {
        return spmm(tape, graph, in[0], Normalisation::symmetric);
      });
}

TEST(Spmm, ADirectedGraphNeedsItsTransposeForTheGradient) {
  CsrGraph graph = random_graph(10, false);
  Tape tape, silent(false);
  Var x = tape.variable(random_matrix(10, 3, 1));
  EXPECT_THROW(spmm(tape, graph, x, Normalisation::none), Error);
  EXPECT_NO_THROW(spmm(silent, graph, x, Normalisation::none));
}

}  // namespace
}  // namespace spex
