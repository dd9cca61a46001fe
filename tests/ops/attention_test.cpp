#include <spex/core/cpu.h>
#include <spex/core/error.h>
#include <spex/core/threads.h>
#include <spex/ops/linear.h>
#include <spex/ops/rows.h>

#include <numeric>
#include <tuple>

#include "double_reference.h"
#include "gradient_check.h"
#include "ops/attention_reference.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

std::vector<double> doubles(const Matrix& m) {
  return {m.span().begin(), m.span().end()};
}

void expect_close(ConstMatrixView actual, const std::vector<double>& expected,
                  const std::string& what, double tolerance) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  double scale = 1;  // of the summands, where a gradient cancels
  for (double value : expected) scale = std::max(scale, std::abs(value));
  for (size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(actual.data[i], expected[i], tolerance * scale) << what << ", entry " << i;
}

// A random directed pattern: row i has degrees[i] edges of random types; sorted by type within the
// row.
std::vector<Edge> random_edges(const std::vector<size_t>& degrees, size_t sources, size_t types,
                               uint64_t seed) {
  Random random(seed, Purpose::test, 7);
  std::vector<Edge> edges;
  uint64_t index = 0;
  for (size_t i = 0; i < degrees.size(); ++i) {
    size_t first = edges.size();
    for (size_t e = 0; e < degrees[i]; ++e, ++index)
      edges.push_back({i, random.below(sources, 3 * index), random.below(types, 3 * index + 1),
                       -3 * random.uniform(3 * index + 2)});
    std::stable_sort(edges.begin() + static_cast<ptrdiff_t>(first), edges.end(),
                     [](const Edge& a, const Edge& b) { return a.type < b.type; });
  }
  return edges;
}

template <class T>
SharedArray<T> shared(const std::vector<T>& values) {
  Buffer<T> buffer(values.size(), MemoryTag::graph);
  std::copy(values.begin(), values.end(), buffer.begin());
  return buffer;
}

// Compressed rows of `edges` (sorted by query, then type); transposed: of the edges turned round.
AttentionGraph graph_of(std::vector<Edge> edges, size_t nodes, size_t types, bool transposed) {
  if (transposed)
    for (Edge& e : edges) std::swap(e.query, e.key);
  std::stable_sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) {
    return std::tie(a.query, a.type) < std::tie(b.query, b.type);
  });
  std::vector<EdgeOffset> offsets(nodes + 1, 0), ends((types - 1) * nodes, 0);
  std::vector<NodeId> neighbours;
  for (const Edge& e : edges) {
    ++offsets[e.query + 1];
    neighbours.push_back(static_cast<NodeId>(e.key));
  }
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  for (size_t t = 0; t + 1 < types; ++t)
    for (size_t i = 0; i < nodes; ++i)
      ends[t * nodes + i] =
          offsets[i] + std::count_if(edges.begin(), edges.end(),
                                     [&](const Edge& e) { return e.query == i && e.type <= t; });
  AttentionGraph graph;
  graph.offsets = shared(offsets);
  graph.neighbours = shared(neighbours);
  graph.segment_ends = shared(ends);
  graph.types = types;
  return graph;
}

NeighbourMatrix matrix_of(const std::vector<Edge>& edges, size_t queries, size_t sources, size_t k,
                          size_t types) {
  NeighbourMatrix pattern;
  pattern.queries = queries;
  pattern.sources = sources;
  pattern.k = k;
  pattern.types = types;
  pattern.indices = Buffer<NodeId>(queries * k, MemoryTag::graph);
  pattern.ends = Buffer<uint16_t>(types * queries, MemoryTag::graph);
  pattern.log_score = Buffer<float>(queries * k, MemoryTag::graph);
  std::fill(pattern.indices.begin(), pattern.indices.end(), 4'000'000'000U);  // masked: never read
  std::fill(pattern.ends.begin(), pattern.ends.end(), 0);
  std::vector<size_t> filled(queries, 0);
  for (const Edge& e : edges) {
    size_t at = e.query * k + filled[e.query]++;
    pattern.indices[at] = static_cast<NodeId>(e.key);
    pattern.log_score[at] = static_cast<float>(e.log_score);
    for (size_t t = e.type; t < types; ++t) ++pattern.ends[t * queries + e.query];
  }
  return pattern;
}

struct Case {
  std::vector<size_t> degrees;  // one per query
  size_t sources;
  size_t heads, width;  // width of one head
  AttentionOptions options;
  bool log_score = false;
  double spread = 1.0;  // of q: large ones reach the clamp
  double tolerance = 2e-5;
};

Matrix copy_of(ConstMatrixView values) {
  Matrix matrix(values.rows, values.cols, MemoryTag::other);
  copy(matrix, values);
  return matrix;
}

Matrix side_by_side(const Matrix& a, const Matrix& b) {
  Matrix both(a.rows(), a.cols() + b.cols(), MemoryTag::other);
  copy(both.view().columns(0, a.cols()), a);
  copy(both.view().columns(a.cols(), b.cols()), b);
  return both;
}

// Runs an attention op forward and backward and compares everything with the reference.
void check_one(const Case& c, bool regular, bool joined) {
  constexpr size_t kTypes = 3;
  size_t queries = c.degrees.size();
  size_t width = c.heads * c.width;
  SCOPED_TRACE(testing::Message() << "queries " << queries << ", heads " << c.heads
                                  << ", head width " << c.width << ", isa " << name(isa())
                                  << ", regular " << regular << ", joined " << joined);
  auto edges = random_edges(c.degrees, c.sources, kTypes, 11);
  Matrix q = random_matrix(regular ? queries : c.sources, width, 1, c.spread);
  Matrix k = random_matrix(c.sources, width, 2), v = random_matrix(c.sources, width, 3);
  Matrix mod = random_matrix(kTypes, width, 4), bias = random_matrix(kTypes, c.heads, 5);
  Matrix weight = random_matrix(1, c.heads, 6);
  if (!c.log_score) fill(weight, 0.0F);

  AttentionReference reference{c.heads,
                               width,
                               c.options.scale_by_width ? 1 / std::sqrt(double(c.width)) : 1.0,
                               c.options.temperature,
                               c.options.clamp,
                               edges,
                               doubles(q),
                               doubles(k),
                               doubles(v),
                               doubles(mod),
                               doubles(bias),
                               doubles(weight),
                               {},
                               {},
                               {},
                               {},
                               {},
                               {},
                               {},
                               {}};
  reference.forward(queries);

  Tape tape;
  AttentionInputs in;
  in.q = tape.variable(clone(q));
  in.joined = joined;
  in.k = tape.variable(joined ? side_by_side(k, v) : clone(k));
  if (!joined) in.v = tape.variable(clone(v));
  in.modulation = tape.variable(clone(mod));
  in.bias = tape.variable(clone(bias));
  if (c.log_score) in.log_score_weight = tape.variable(clone(weight));
  AttentionOptions options = c.options;
  options.heads = c.heads;
  AttentionGraph graph, transposed;
  NeighbourMatrix pattern;
  Var out;
  if (regular) {
    size_t k_max = *std::max_element(c.degrees.begin(), c.degrees.end());
    pattern = matrix_of(edges, queries, c.sources, std::max<size_t>(k_max, 1), kTypes);
    out = regular_attention(tape, in, pattern, options);
  } else {
    graph = graph_of(edges, c.sources, kTypes, false);
    transposed = graph_of(edges, c.sources, kTypes, true);
    out = sparse_attention(tape, in, graph, transposed, options);
    std::vector<float> scores(edges.size() * c.heads);
    sparse_attention_scores(scores, in, graph, options);
    expect_close({scores.data(), 1, scores.size(), scores.size()}, reference.scores, "scores",
                 c.tolerance);
  }
  expect_close(out.value(), reference.out, "out", c.tolerance);

  std::vector<double> dout(queries * width);
  Random random(99, Purpose::test, 1);
  for (size_t i = 0; i < dout.size(); ++i) dout[i] = random.normal(i);
  reference.backward(dout);
  tape.backward(linear_form(tape, out));
  expect_close(in.q.gradient()->view(), reference.dq, "dq", c.tolerance);
  ConstMatrixView dk = in.k.gradient()->view();
  if (joined) {
    expect_close(copy_of(dk.columns(0, width)).view(), reference.dk, "dk", c.tolerance);
    expect_close(copy_of(dk.columns(width, width)).view(), reference.dv, "dv", c.tolerance);
  } else {
    expect_close(dk, reference.dk, "dk", c.tolerance);
    expect_close(in.v.gradient()->view(), reference.dv, "dv", c.tolerance);
  }
  expect_close(in.modulation.gradient()->view(), reference.dmod, "dE", c.tolerance);
  expect_close(in.bias.gradient()->view(), reference.dbias, "dB", c.tolerance);
  if (c.log_score)
    expect_close(in.log_score_weight.gradient()->view(), reference.dlog_score_weight, "dweight",
                 c.tolerance);
}

void check(const Case& c, bool regular) {
  check_one(c, regular, false);
  if (takes_joined(c.heads * c.width, c.heads)) check_one(c, regular, true);
}

Matrix identity(size_t width) {
  Matrix one = Matrix::zeros(width, width, MemoryTag::other);
  for (size_t i = 0; i < width; ++i) one(i, i) = 1.0F;
  return one;
}

// Folded attention with identities for the projections is attention whose keys are its values.
void check_folded(const std::vector<size_t>& degrees, size_t sources, size_t width,
                  bool log_score = false, const AttentionOptions& options = {}) {
  constexpr size_t kTypes = 3;
  constexpr double kTolerance = 2e-5;
  SCOPED_TRACE(testing::Message() << "width " << width << ", isa " << name(isa()));
  size_t queries = degrees.size();
  auto edges = random_edges(degrees, sources, kTypes, 11);
  Matrix q = random_matrix(queries, width, 1), k = random_matrix(sources, width, 2);
  Matrix mod = random_matrix(kTypes, width, 4), bias = random_matrix(kTypes, 1, 5);
  Matrix weight = random_matrix(1, 1, 6);
  if (!log_score) fill(weight, 0.0F);
  AttentionReference reference;
  reference.heads = 1;
  reference.width = width;
  reference.scale = options.scale_by_width ? 1 / std::sqrt(double(width)) : 1.0;
  reference.temperature = options.temperature;
  reference.clamp = options.clamp;
  reference.edges = edges;
  reference.q = doubles(q);
  reference.k = reference.v = doubles(k);
  reference.mod = doubles(mod);
  reference.bias = doubles(bias);
  reference.log_score_weight = doubles(weight);
  reference.forward(queries);

  Tape tape;
  Var queries_in = tape.variable(clone(q)), modulation = tape.variable(clone(mod));
  AttentionInputs in;
  Var fold = fold_queries(tape, tape.constant(identity(width)), tape.constant(identity(width)),
                          modulation, score_factor(options, width));
  in.q = linear(tape, queries_in, fold);
  in.k = tape.variable(clone(k));
  in.bias = tape.variable(clone(bias));
  if (log_score) in.log_score_weight = tape.variable(clone(weight));
  size_t k_max = std::max<size_t>(1, *std::max_element(degrees.begin(), degrees.end()));
  NeighbourMatrix pattern = matrix_of(edges, queries, sources, k_max, kTypes);
  Var out = regular_attention(tape, in, pattern, options);
  expect_close(out.value(), reference.out, "out", kTolerance);

  std::vector<double> dout(queries * width);
  Random random(99, Purpose::test, 1);
  for (size_t i = 0; i < dout.size(); ++i) dout[i] = random.normal(i);
  reference.backward(dout);
  tape.backward(linear_form(tape, out));
  std::vector<double> dk = reference.dk;
  for (size_t i = 0; i < dk.size(); ++i) dk[i] += reference.dv[i];
  expect_close(queries_in.gradient()->view(), reference.dq, "dq", kTolerance);
  expect_close(in.k.gradient()->view(), dk, "dk + dv", kTolerance);
  expect_close(modulation.gradient()->view(), reference.dmod, "dE", kTolerance);
  expect_close(in.bias.gradient()->view(), reference.dbias, "dB", kTolerance);
  if (log_score)
    expect_close(in.log_score_weight.gradient()->view(), reference.dlog_score_weight, "dweight",
                 kTolerance);
}

class AttentionOnEveryIsa : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override { set_isa(GetParam()); }
  void TearDown() override { set_isa(supported_isas().back()); }
};

std::vector<size_t> random_degrees(size_t count, size_t most, uint64_t seed) {
  std::vector<size_t> degrees(count);
  for (size_t i = 0; i < count; ++i) degrees[i] = Random(seed, Purpose::test, 3).below(most + 1, i);
  return degrees;
}

TEST_P(AttentionOnEveryIsa, SparseMatchesDoublePrecisionForAllWidthsAndHeads) {
  for (size_t width : {1, 3, 4, 8, 17, 32, 56, 128})
    for (size_t heads : {1, 2, 4, 8})
      check({random_degrees(40, 50, width), 40, heads, width, {}}, false);
}

TEST_P(AttentionOnEveryIsa, RegularMatchesDoublePrecisionForAllWidthsAndHeads) {
  for (size_t width : {1, 3, 4, 8, 17, 32, 56, 128})
    for (size_t heads : {1, 2, 4, 8})
      check({random_degrees(20, 12, width), 60, heads, width, {}}, true);
}

TEST_P(AttentionOnEveryIsa, FoldedMatchesDoublePrecisionForAllWidths) {
  for (size_t width : {1, 3, 4, 8, 17, 32, 56, 128})
    check_folded(random_degrees(20, 40, width), 60, width);
  check_folded(std::vector<size_t>(300, 10), 900, 64);
  check_folded({0, 3, 0, 1, 0}, 5, 16);
  check_folded(random_degrees(20, 12, 5), 50, 32, true);
  check_folded(random_degrees(20, 12, 5), 50, 32, false, {1, false, 0.3F, 2.0F});
}

TEST_P(AttentionOnEveryIsa, RegularWithFullRowsMatches) {
  check({std::vector<size_t>(300, 10), 500, 4, 8, {}}, true);
  check({std::vector<size_t>(300, 17), 500, 1, 8, {}}, true);
}

TEST_P(AttentionOnEveryIsa, LogScoresEnterWithALearnedWeight) {
  for (size_t width : {3, 8, 32}) check({random_degrees(20, 12, 5), 50, 2, width, {}, true}, true);
  check({random_degrees(20, 12, 5), 50, 1, 8, {}, true}, true);
}

TEST_P(AttentionOnEveryIsa, OneNodeOneNeighbour) {
  for (bool regular : {false, true})
    for (size_t width : {1, 8, 32}) check({{1}, 1, 1, width, {}}, regular);
}

TEST_P(AttentionOnEveryIsa, IsolatedNodesGiveZero) {
  for (bool regular : {false, true})
    for (size_t width : {4, 8, 16})
      for (size_t heads : {1, 4}) check({{0, 3, 0, 1, 0}, 5, heads, width, {}}, regular);
}

TEST_P(AttentionOnEveryIsa, AllRowsMaskedButOne) {
  for (size_t width : {8, 32}) check({{0, 0, 5, 0, 0, 0}, 9, 1, width, {}}, true);
}

TEST_P(AttentionOnEveryIsa, ANodeOfDegreeTenThousand) {
  for (size_t width : {4, 8, 32}) check({{10000, 2, 1}, 3, 1, width, {}, false, 1.0, 1e-4}, false);
}

TEST_P(AttentionOnEveryIsa, TemperatureScaleAndClampFollowTheFormula) {
  for (size_t width : {4, 8, 32})
    for (bool scale : {false, true})
      for (float temperature : {1.0F, 0.3F})
        for (float clamp : {8.0F, 2.0F})
          for (bool regular : {false, true})
            check({random_degrees(15, 9, 3),
                   15,
                   2,
                   width,
                   {1, scale, temperature, clamp},
                   false,
                   2.0},
                  regular);
  check({random_degrees(15, 20, 3), 15, 1, 8, {1, false, 0.3F, 2.0F}, false, 2.0}, false);
}

// All rows, of which some are then taken, against those rows alone: output and gradients.
TEST_P(AttentionOnEveryIsa, ChosenRowsAreThoseOfTheWholeGraph) {
  constexpr size_t kNodes = 90, kTypes = 3;
  auto edges = random_edges(random_degrees(kNodes, 40, 3), kNodes, kTypes, 11);
  AttentionGraph graph = graph_of(edges, kNodes, kTypes, false);
  AttentionGraph transposed = graph_of(edges, kNodes, kTypes, true);
  ChosenRows chosen = choose_rows(transposed, {2, 3, 17, 40, 41, 42, 77, 89});
  for (auto [heads, width] : {std::pair{1, 8}, {1, 4}, {2, 16}, {2, 96}, {3, 15}}) {
    SCOPED_TRACE(testing::Message() << heads << " heads, width " << width);
    AttentionOptions options;
    options.heads = static_cast<size_t>(heads);
    auto columns = static_cast<size_t>(width);
    auto run = [&](bool part) {
      Tape tape;
      Var q = tape.variable(random_matrix(kNodes, columns, 1));
      AttentionInputs in;
      in.q = part ? gather_rows(tape, q, chosen.nodes) : q;
      in.k = tape.variable(random_matrix(kNodes, columns, 2));
      in.v = tape.variable(random_matrix(kNodes, columns, 3));
      in.modulation = tape.variable(random_matrix(kTypes, columns, 4));
      in.bias = tape.variable(random_matrix(kTypes, options.heads, 5));
      Var out = part ? sparse_attention(tape, in, graph, chosen, options)
                     : gather_rows(tape, sparse_attention(tape, in, graph, transposed, options),
                                   chosen.nodes);
      std::vector<Matrix> results;
      results.push_back(copy_of(out.value()));
      tape.backward(linear_form(tape, out));
      for (const Var& input : {q, in.k, in.v, in.modulation, in.bias})
        results.push_back(copy_of(input.gradient()->view()));
      return results;
    };
    std::vector<Matrix> part = run(true), whole = run(false);
    for (size_t i = 0; i < whole.size(); ++i)
      expect_close(part[i].view(), doubles(whole[i]), "result " + std::to_string(i), 1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, AttentionOnEveryIsa, testing::ValuesIn(supported_isas()),
                         [](const auto& info) { return std::string(name(info.param)); });

TEST(FoldQueries, MatchesDoublePrecisionForwardAndBackward) {
  constexpr size_t kIn = 5, kWidth = 4, kTypes = 3;
  expect_matches(
      matrices(random_matrix(kIn, kWidth, 1), random_matrix(kIn, kWidth, 2),
               random_matrix(kTypes, kWidth, 3)),
      [](Tape& tape, std::vector<Var>& in) {
        return fold_queries(tape, in[0], in[1], in[2], 0.5F);
      },
      [](const Doubles& in) {
        std::vector<double> y(kIn * kTypes * kIn, 0.0);
        for (size_t i = 0; i < y.size(); ++i) {
          size_t row = i / (kTypes * kIn), type = i / kIn % kTypes, col = i % kIn;
          for (size_t d = 0; d < kWidth; ++d)
            y[i] +=
                0.5 * in[0][row * kWidth + d] * in[1][col * kWidth + d] * in[2][type * kWidth + d];
        }
        return y;
      });
}

TEST(Attention, GivesTheSameBytesWithOneAndTwoThreads) {
  for (size_t width : {8, 32}) {
    auto edges = random_edges(random_degrees(1000, 60, 1), 1000, 3, 5);
    AttentionGraph graph = graph_of(edges, 1000, 3, false),
                   transposed = graph_of(edges, 1000, 3, true);
    std::vector<std::vector<float>> results[2];
    for (int threads : {1, 2}) {
      set_threads(threads);
      Tape tape;
      AttentionInputs in{tape.variable(random_matrix(1000, width, 1)),
                         tape.variable(random_matrix(1000, width, 2)),
                         tape.variable(random_matrix(1000, width, 3)),
                         tape.variable(random_matrix(3, width, 4)),
                         tape.variable(random_matrix(3, 1, 5)),
                         {}};
      Var out = sparse_attention(tape, in, graph, transposed, {});
      auto bytes = [](ConstMatrixView m) { return std::vector<float>(m.data, m.data + m.size()); };
      results[threads - 1].push_back(bytes(out.value()));
      tape.backward(linear_form(tape, out));
      for (const Var& var : {in.q, in.k, in.v, in.modulation, in.bias})
        results[threads - 1].push_back(bytes(var.gradient()->view()));
    }
    EXPECT_EQ(results[0], results[1]);
  }
  set_threads(0);
}

TEST(Attention, ExtraMemoryDoesNotGrowWithTheNumberOfEdges) {
  auto peak = [](size_t degree) {
    auto edges = random_edges(std::vector<size_t>(500, degree), 500, 3, 5);
    AttentionGraph graph = graph_of(edges, 500, 3, false),
                   transposed = graph_of(edges, 500, 3, true);
    size_t before = memory_use().current;
    reset_memory_peaks();
    Tape tape;
    AttentionInputs in{tape.variable(random_matrix(500, 8, 1)),
                       tape.variable(random_matrix(500, 8, 2)),
                       tape.variable(random_matrix(500, 8, 3)),
                       {},
                       {},
                       {}};
    tape.backward(linear_form(tape, sparse_attention(tape, in, graph, transposed, {})));
    return memory_use().peak - before;
  };
  EXPECT_EQ(peak(4), peak(64));
}

// Per node, forward has the padded output, one normaliser for each head, the table and, where rows
// are padded, the queries.
TEST(Attention, PaddingSaysWhatForwardAllocates) {
  for (auto [heads, width] : {std::pair<size_t, size_t>{1, 4}, {1, 8}, {3, 15}, {4, 32}, {2, 64}}) {
    AttentionPadding padding = attention_padding(width, heads, false);
    auto peak = [heads = heads, width = width](size_t nodes) {
      auto edges = random_edges(std::vector<size_t>(nodes, 2), nodes, 3, 5);
      AttentionGraph graph = graph_of(edges, nodes, 3, false),
                     transposed = graph_of(edges, nodes, 3, true);
      Tape tape(false);
      AttentionInputs in;
      in.q = tape.variable(random_matrix(nodes, width, 1));
      in.k = tape.variable(random_matrix(nodes, width, 2));
      in.v = tape.variable(random_matrix(nodes, width, 3));
      AttentionOptions options;
      options.heads = heads;
      size_t before = memory_use().current;
      reset_memory_peaks();
      sparse_attention(tape, in, graph, transposed, options);
      return memory_use().peak - before;
    };
    size_t queries = padding.row > width ? padding.row : 0;
    EXPECT_EQ(peak(256) - peak(128),
              128 * sizeof(float) * (padding.row + heads + padding.table + queries))
        << heads << " heads, width " << width;
  }
}

TEST(Attention, HalfScoresRoundTheFloatOnes) {
  auto edges = random_edges(random_degrees(50, 20, 1), 50, 3, 5);
  AttentionGraph graph = graph_of(edges, 50, 3, false);
  Tape tape;
  AttentionInputs in{tape.variable(random_matrix(50, 8, 1)),
                     tape.variable(random_matrix(50, 8, 2)),
                     tape.variable(random_matrix(50, 8, 3)),
                     {},
                     {},
                     {}};
  std::vector<float> full(graph.edges()), back(graph.edges());
  std::vector<Half> half(graph.edges());
  sparse_attention_scores(full, in, graph, {});
  sparse_attention_scores(half, in, graph, {});
  to_float(back, half);
  for (size_t e = 0; e < full.size(); ++e) EXPECT_NEAR(back[e], full[e], full[e] * 0.0005 + 1e-7);
}

TEST(Attention, RejectsShapesThatDoNotMatch) {
  AttentionGraph graph = graph_of({{0, 0, 0}}, 1, 3, false);
  Tape tape;
  Var x = tape.variable(random_matrix(1, 8, 1)), y = tape.variable(random_matrix(2, 8, 1));
  AttentionOptions three_heads;
  three_heads.heads = 3;
  EXPECT_THROW(sparse_attention(tape, {x, x, x, {}, {}, {}}, graph, graph, three_heads), Error);
  EXPECT_THROW(sparse_attention(tape, {x, y, x, {}, {}, {}}, graph, graph, {}), Error);
}

}  // namespace
}  // namespace spex
