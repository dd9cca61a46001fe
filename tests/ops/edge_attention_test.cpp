#include <spex/core/error.h>
#include <spex/core/threads.h>
#include <spex/ops/edge_attention.h>

#include "gradient_check.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

// Node i attends to i, i + 1 and i + 3 (modulo n); node 0 to nobody. Two features per edge.
AttentionGraph small_graph(size_t n) {
  Buffer<EdgeOffset> offsets(n + 1, MemoryTag::graph);
  Buffer<NodeId> neighbours(3 * (n - 1), MemoryTag::graph);
  offsets[0] = offsets[1] = 0;
  for (size_t i = 1; i < n; ++i) {
    offsets[i + 1] = offsets[i] + 3;
    for (size_t e = 0; e < 3; ++e)
      neighbours[offsets[i] + e] = static_cast<NodeId>((i + (e == 2 ? 3 : e)) % n);
  }
  AttentionGraph graph;
  graph.offsets = std::move(offsets);
  graph.neighbours = std::move(neighbours);
  graph.types = 1;
  return graph;
}

TEST(EdgeAttention, GradientMatchesFiniteDifferences) {
  AttentionGraph graph = small_graph(6);
  IncomingEdges incoming = incoming_edges(graph);
  Matrix x = random_matrix(graph.edges(), 2, 9);
  AttentionOptions options;
  options.heads = 2;
  options.temperature = 0.7F;
  check_gradients(matrices(random_matrix(6, 6, 1), random_matrix(6, 6, 2), random_matrix(6, 6, 3),
                           random_matrix(2, 6, 4), random_matrix(2, 2, 5)),
                  [&](Tape& tape, std::vector<Var>& in) {
                    return edge_attention(tape, {in[0], in[1], in[2], in[3], in[4], {}}, graph,
                                          incoming, x, options);
                  });
}

TEST(EdgeAttention, OneHotFeaturesAreEdgeTypes) {
  AttentionGraph plain = small_graph(8);
  IncomingEdges incoming = incoming_edges(plain);
  // Within a row, the first edge is of type 0, the other two of type 1.
  AttentionGraph typed = plain;
  typed.types = 2;
  Buffer<EdgeOffset> ends(8, MemoryTag::graph);
  Matrix x = Matrix::zeros(plain.edges(), 2, MemoryTag::other);
  for (size_t i = 0; i < 8; ++i) {
    ends[i] = std::min(plain.offsets[i] + 1, plain.offsets[i + 1]);
    for (EdgeOffset e = plain.offsets[i]; e < plain.offsets[i + 1]; ++e)
      x(e, e < ends[i] ? 0 : 1) = 1.0F;
  }
  typed.segment_ends = std::move(ends);
  Tape tape(false);
  AttentionInputs in{tape.constant(random_matrix(8, 8, 1)), tape.constant(random_matrix(8, 8, 2)),
                     tape.constant(random_matrix(8, 8, 3)), tape.constant(random_matrix(2, 8, 4)),
                     tape.constant(random_matrix(2, 1, 5)), {}};
  Var by_feature = edge_attention(tape, in, plain, incoming, x, {});
  Var by_type = sparse_attention(tape, in, typed, typed, {});
  expect_near(by_feature.value(), by_type.value(), 1e-5, "attention");
}

TEST(EdgeAttention, GivesTheSameBytesWithOneAndTwoThreads) {
  AttentionGraph graph = small_graph(500);
  IncomingEdges incoming = incoming_edges(graph);
  Matrix x = random_matrix(graph.edges(), 3, 9);
  std::vector<float> results[2];
  for (int threads : {1, 2}) {
    set_threads(threads);
    Tape tape;
    AttentionInputs in{
        tape.variable(random_matrix(500, 4, 1)), tape.variable(random_matrix(500, 4, 2)),
        tape.variable(random_matrix(500, 4, 3)), tape.variable(random_matrix(3, 4, 4)),
        tape.variable(random_matrix(3, 1, 5)),   {}};
    tape.backward(linear_form(tape, edge_attention(tape, in, graph, incoming, x, {})));
    for (const Var& var : {in.q, in.k, in.v, in.modulation, in.bias}) {
      ConstMatrixView gradient = var.gradient()->view();
      results[threads - 1].insert(results[threads - 1].end(), gradient.data,
                                  gradient.data + gradient.size());
    }
  }
  set_threads(0);
  EXPECT_EQ(results[0], results[1]);
}

TEST(EdgeAttention, RejectsFeaturesOfAnotherGraph) {
  AttentionGraph graph = small_graph(4);
  IncomingEdges incoming = incoming_edges(graph);
  Matrix x = random_matrix(graph.edges() + 1, 2, 9);
  Tape tape;
  Var rows = tape.variable(random_matrix(4, 4, 1));
  EXPECT_THROW(edge_attention(tape, {rows, rows, rows, {}, {}, {}}, graph, incoming, x, {}), Error);
}

}  // namespace
}  // namespace spex
