#include <spex/core/error.h>
#include <spex/ops/aggregate.h>
#include <spex/ops/elementwise.h>

#include "double_reference.h"
#include "ops/neighbourhoods.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

std::vector<float> factors(size_t count, uint64_t seed) {
  Matrix values = random_matrix(1, count, seed);
  return {values.span().begin(), values.span().end()};
}

DoubleProgram aggregate_program(const Pattern& pattern, size_t cols,
                                const AggregateWeights& weights) {
  auto at = [](std::span<const float> values, size_t i) {
    return values.empty() ? 1.0 : double{values[i]};
  };
  return [=, edges = seen_edges(pattern)](const Doubles& in) {
    std::vector<double> y(pattern.queries() * cols, 0.0);
    for (const SeenEdge& e : edges) {
      double weight = at(weights.per_query, e.query) * at(weights.per_source, e.source) *
                      at(weights.per_edge, e.entry);
      for (size_t c = 0; c < cols; ++c)
        y[e.query * cols + c] += weight * in[0][e.source * cols + c];
    }
    return y;
  };
}

void expect_right(const Pattern& pattern, size_t cols, const AggregateWeights& weights) {
  on_every_isa([&] {
    expect_matches(
        matrices(random_matrix(pattern.sources(), cols, 1)),
        [&](Tape& tape, std::vector<Var>& in) { return aggregate(tape, in[0], pattern, weights); },
        aggregate_program(pattern, cols, weights));
  });
}

TEST(Aggregate, MatchesDoublePrecisionOnEveryPatternAndWidth) {
  Neighbourhoods graph(120);
  for (const auto& [what, pattern] : graph.patterns())
    for (size_t cols : {1, 2, 3, 4, 7, 12, 17, 32, 60, 64, 75, 130, 300}) {
      SCOPED_TRACE(what + ", " + std::to_string(cols) + " columns");
      expect_right(pattern, cols, {});
    }
}

TEST(Aggregate, MatchesDoublePrecisionWithFactors) {
  Neighbourhoods graph(300);
  for (const auto& [what, pattern] : graph.patterns()) {
    SCOPED_TRACE(what);
    std::vector<float> r = factors(pattern.queries(), 2), c = factors(pattern.sources(), 3);
    expect_right(pattern, 20, {.per_query = r, .per_source = {}});
    expect_right(pattern, 20, {.per_query = {}, .per_source = c});
    expect_right(pattern, 20, {.per_query = r, .per_source = c});
  }
}

TEST(Aggregate, MatchesDoublePrecisionWithAValuePerEdge) {
  Neighbourhoods graph(300);
  Pattern pattern = graph.all();
  std::vector<float> r = factors(300, 2), c = factors(300, 3);
  std::vector<float> w = factors(pattern.graph->edges(), 4);
  Buffer<float> back = transpose_values(*pattern.graph, *pattern.transposed, w);
  expect_right(pattern, 20, {.per_edge = w, .per_edge_transposed = back.span()});
  expect_right(
      pattern, 20,
      {.per_query = r, .per_source = c, .per_edge = w, .per_edge_transposed = back.span()});
}

// 2 y plus the sums, 2 y handed over or not: the gradient is passed on to y.
TEST(AddAggregate, MatchesDoublePrecisionHandedOverOrNot) {
  Neighbourhoods graph(120);
  for (const auto& [what, pattern] : graph.patterns())
    for (bool handed : {false, true}) {
      SCOPED_TRACE(what);
      std::vector<float> r = factors(pattern.queries(), 2);
      AggregateWeights weights{.per_query = r};
      on_every_isa([&] {
        expect_matches(
            matrices(random_matrix(pattern.sources(), 20, 1),
                     random_matrix(pattern.queries(), 20, 4)),
            [&](Tape& tape, std::vector<Var>& in) {
              Var doubled = add(tape, in[1], in[1]);
              const float* buffer = doubled.value().data;
              Var sum = handed ? add_aggregate(tape, std::move(doubled), in[0], pattern, weights)
                               : add_aggregate(tape, doubled, in[0], pattern, weights);
              EXPECT_EQ(sum.value().data == buffer, handed);
              return sum;
            },
            [&](const Doubles& in) {
              std::vector<double> y = aggregate_program(pattern, 20, weights)(in);
              for (size_t i = 0; i < y.size(); ++i) y[i] += 2.0 * in[1][i];
              return y;
            });
      });
    }
}

TEST(Aggregate, AddsToTheGradientOfAValueUsedTwice) {
  Neighbourhoods graph(30);
  for (size_t cols : {3, 9, 75})
    check_gradients(matrices(random_matrix(30, cols, 1)), [&](Tape& tape, std::vector<Var>& in) {
      Var once = aggregate(tape, in[0], graph.all());
      return aggregate(tape, aggregate(tape, once, graph.all()), graph.chosen());
    });
  on_every_isa([&] {
    for (size_t cols : {5, 75}) {
      Tape tape;
      Var x = tape.variable(random_matrix(30, cols, 1));
      Var first = aggregate(tape, x, graph.all()), second = aggregate(tape, x, graph.all());
      for (const Var& y : {first, second}) {
        Matrix ones(30, cols, MemoryTag::gradients);
        fill(ones, 1.0F);
        y.gradient()->give(std::move(ones));
      }
      Matrix more = Matrix::zeros(30, cols, MemoryTag::gradients);
      tape.backward(second, std::move(more));
      for (size_t j = 0; j < 30; ++j)
        for (size_t c = 0; c < cols; ++c)
          ASSERT_EQ(x.gradient()->view()(j, c),
                    2.0F * static_cast<float>(graph.all().transposed->offsets[j + 1] -
                                              graph.all().transposed->offsets[j]));
    }
  });
}

TEST(Aggregate, SameBytesForAnyThreadCount) {
  Neighbourhoods graph(1000);
  for (const auto& [what, pattern] : graph.patterns()) {
    SCOPED_TRACE(what);
    std::vector<float> c = factors(1000, 3);
    expect_same_bytes_for_any_thread_count(
        matrices(random_matrix(1000, 140, 1)), [&](Tape& tape, std::vector<Var>& in) {
          return aggregate(tape, in[0], pattern, {.per_query = {}, .per_source = c});
        });
  }
}

TEST(Aggregate, TakesNoMemoryBesidesItsResults) {
  Neighbourhoods graph(300);
  size_t before = memory_use().current;
  reset_memory_peaks();
  Tape tape;
  Var x = tape.variable(random_matrix(300, 24, 1));
  Var y = aggregate(tape, x, graph.all());
  tape.backward(y, random_matrix(300, 24, 2));
  EXPECT_EQ(memory_use().peak - before, 4 * 300 * 24 * sizeof(float));  // x, y, dx, dy
}

TEST(Aggregate, RejectsWhatDoesNotFitThePattern) {
  Neighbourhoods graph(30);
  Tape tape;
  Var x = tape.variable(random_matrix(30, 3, 1));
  std::vector<float> few(7), edges(graph.all().graph->edges());
  EXPECT_THROW(aggregate(tape, tape.variable(random_matrix(29, 3, 1)), graph.all()), Error);
  EXPECT_THROW(aggregate(tape, x, graph.all(), {.per_query = few}), Error);
  EXPECT_THROW(add_aggregate(tape, tape.variable(random_matrix(30, 2, 1)), x, graph.all()), Error);
  EXPECT_THROW(aggregate(tape, x, graph.chosen(), {.per_query = {}, .per_source = few}), Error);
  EXPECT_THROW(aggregate(tape, x, graph.all(), {.per_edge = edges}), Error);
  EXPECT_THROW(
      aggregate(tape, x, graph.chosen(), {.per_edge = edges, .per_edge_transposed = edges}), Error);
}

}  // namespace
}  // namespace spex
