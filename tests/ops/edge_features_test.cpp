#include <spex/core/error.h>
#include <spex/graph/builder.h>
#include <spex/graph/expander.h>
#include <spex/ops/attention.h>
#include <spex/ops/rows.h>

#include "double_reference.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

constexpr size_t kNodes = 30;

// Directed, joined with an expander and self-loops. Node 0 has edges to nearly all, node 1 none;
// node 2 has one, the others a few, two of them to the same node.
CsrGraph own_graph() {
  std::vector<NodeId> from, to;
  auto join = [&](size_t i, size_t j) {
    from.push_back(static_cast<NodeId>(i));
    to.push_back(static_cast<NodeId>(j));
  };
  for (size_t j = 2; j < kNodes; ++j) join(0, j);
  join(2, 0);
  for (size_t i = 3; i < kNodes; ++i)
    for (size_t e = 0; e < i % 10; ++e) join(i, e < 2 ? 5 : (i * 7 + e * e) % kNodes);
  return build_csr(kNodes, from, to, {.undirected = false, .drop_duplicates = false}).graph;
}

SharedArray<float> random_values(size_t count, uint64_t seed) {
  Buffer<float> values(count, MemoryTag::graph);
  Random random(seed, Purpose::test);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(random.normal(i));
  return values;
}

AttentionGraph with_features(const CsrGraph& own, SharedArray<float> values, size_t count) {
  ExpanderOptions expander;
  expander.degree = 4;
  AttentionGraph graph = augment(own, make_expander(own.nodes(), expander).graph);
  add_edge_features(graph, own, std::move(values), count);
  return graph;
}

// An edge in the plainest form.
struct Seen {
  size_t query, key, type;
  std::vector<double> features;
};

// Patterns of every kind, and what the first has of edges.
struct Patterns {
  CsrGraph own = own_graph();
  size_t count;
  AttentionGraph graph, transposed;
  ChosenRows chosen;
  NeighbourMatrix sample;

  explicit Patterns(size_t features)
      : count(features),
        graph(with_features(own, random_values(own.edges() * features, 5), features)),
        transposed(transpose(graph)),
        chosen(choose_rows(transposed, {5, 1, 0, 3, 2, 29})) {
    take_sample(12);
  }

  // The first six graph edges of every second node, and others up to k in all.
  void take_sample(size_t k) {
    sample.queries = kNodes / 2;
    sample.sources = kNodes;
    sample.k = k;
    sample.types = graph.types;
    sample.feature_count = count;
    sample.indices = Buffer<NodeId>(sample.queries * k, MemoryTag::graph);
    sample.ends = Buffer<uint16_t>(sample.types * sample.queries, MemoryTag::graph);
    sample.features = Buffer<float>(sample.queries * k * count, MemoryTag::graph);
    std::fill(sample.ends.begin(), sample.ends.end(), 0);
    std::fill(sample.indices.begin(), sample.indices.end(), 4'000'000'000U);
    std::fill(sample.features.begin(), sample.features.end(), NAN);  // never read but where filled
    for (size_t i = 0; i < sample.queries; ++i) {
      size_t filled = 0;
      for (const Seen& edge : edges_of_node(2 * i)) {
        if (filled == (edge.type == 0 ? 6 : k)) continue;
        if (edge.type == 0)
          std::copy(edge.features.begin(), edge.features.end(),
                    sample.features.begin() + (i * k + filled) * count);
        sample.indices[i * k + filled++] = static_cast<NodeId>(edge.key);
        for (size_t t = edge.type; t < graph.types; ++t)
          sample.ends[t * sample.queries + i] = static_cast<uint16_t>(filled);
      }
    }
  }

  // By the lists of the graph itself.
  std::vector<Seen> edges_of_node(size_t node, size_t query = 0) const {
    std::vector<Seen> edges;
    for (size_t t = 0; t < graph.types; ++t)
      for (EdgeOffset e = graph.segment_begin(t, node); e < graph.segment_end(t, node); ++e) {
        std::vector<double> x(count, 0.0);
        size_t place = own.offsets[node] + (e - graph.offsets[node]);
        for (size_t f = 0; t == 0 && f < count; ++f)
          x[f] = graph.features.values[place * count + f];
        edges.push_back({query, graph.neighbours[e], t, x});
      }
    return edges;
  }
  std::vector<Seen> edges(const std::vector<NodeId>& nodes) const {
    std::vector<Seen> all;
    for (size_t i = 0; i < nodes.size(); ++i)
      for (Seen& edge : edges_of_node(nodes[i], i)) all.push_back(std::move(edge));
    return all;
  }
  std::vector<Seen> sampled_edges() const {
    std::vector<Seen> all;
    for (size_t i = 0; i < sample.queries; ++i)
      for (size_t slot = 0; slot < sample.count(i); ++slot) {
        size_t type = 0;
        while (slot >= sample.ends[type * sample.queries + i]) ++type;
        std::vector<double> x(count, 0.0);
        for (size_t f = 0; type == 0 && f < count; ++f)
          x[f] = sample.features[(i * sample.k + slot) * count + f];
        all.push_back({i, sample.indices[i * sample.k + slot], type, x});
      }
    return all;
  }
};

struct Case {
  size_t heads, width, features;  // width of all heads
  bool joined = false;
  AttentionOptions options = {};
};

enum Input { kQ, kK, kV, kModulation, kBias, kEdgeModulation, kEdgeBias };

// The definition. Inputs in the order of Input.
std::vector<double> attend(const Doubles& in, const std::vector<Seen>& edges, size_t queries,
                           const Case& c) {
  size_t width = c.width, head = c.width / c.heads;
  double scale = c.options.scale_by_width ? 1.0 / std::sqrt(double(head)) : 1.0;
  std::vector<double> out(queries * width, 0.0), sums(queries * c.heads, 1e-6);
  std::vector<double> weights;
  for (const Seen& edge : edges)
    for (size_t h = 0; h < c.heads; ++h) {
      double score = in[kBias][edge.type * c.heads + h];
      for (size_t f = 0; f < c.features; ++f)
        score += edge.features[f] * in[kEdgeBias][f * c.heads + h];
      for (size_t d = h * head; d < (h + 1) * head; ++d) {
        double e = in[kModulation][edge.type * width + d];
        for (size_t f = 0; f < c.features; ++f)
          e += edge.features[f] * in[kEdgeModulation][f * width + d];
        score += scale * e * in[kQ][edge.query * width + d] * in[kK][edge.key * width + d];
      }
      double bound = c.options.clamp;
      double w = std::exp(std::clamp(score / c.options.temperature, -bound, bound));
      weights.push_back(w);
      sums[edge.query * c.heads + h] += w;
    }
  size_t at = 0;
  for (const Seen& edge : edges)
    for (size_t h = 0; h < c.heads; ++h) {
      double a = weights[at++] / sums[edge.query * c.heads + h];
      for (size_t d = h * head; d < (h + 1) * head; ++d)
        out[edge.query * width + d] += a * in[kV][edge.key * width + d];
    }
  return out;
}

std::vector<Matrix> inputs_of(const Case& c, size_t queries, size_t types) {
  return matrices(random_matrix(queries, c.width, 1), random_matrix(kNodes, c.width, 2),
                  random_matrix(kNodes, c.width, 3), random_matrix(types, c.width, 4, 0.5),
                  random_matrix(types, c.heads, 5), random_matrix(c.features, c.width, 6, 0.5),
                  random_matrix(c.features, c.heads, 7));
}

AttentionInputs attention_inputs(Tape& tape, const std::vector<Var>& in, bool joined) {
  AttentionInputs inputs;
  inputs.q = in[kQ];
  inputs.k = joined ? concatenate(tape, in[kK], in[kV]) : in[kK];
  if (!joined) inputs.v = in[kV];
  inputs.joined = joined;
  inputs.modulation = in[kModulation];
  inputs.bias = in[kBias];
  inputs.edge_modulation = in[kEdgeModulation];
  inputs.edge_bias = in[kEdgeBias];
  return inputs;
}

void check(const Case& c) {
  SCOPED_TRACE(testing::Message() << c.heads << " heads, width " << c.width << ", " << c.features
                                  << " features, joined " << c.joined);
  Patterns p(c.features);
  AttentionOptions options = c.options;
  options.heads = c.heads;
  std::vector<NodeId> all(kNodes);
  for (size_t i = 0; i < kNodes; ++i) all[i] = static_cast<NodeId>(i);
  auto compare = [&](const std::vector<Seen>& edges, size_t queries, const auto& attention) {
    auto run = [&](Tape& tape, std::vector<Var>& in) {
      return attention(tape, attention_inputs(tape, in, c.joined));
    };
    expect_matches(
        inputs_of(c, queries, p.graph.types), run,
        [&](const Doubles& in) { return attend(in, edges, queries, c); }, 3e-5, 10);
  };
  {
    SCOPED_TRACE("all rows");
    compare(p.edges(all), kNodes, [&](Tape& tape, const AttentionInputs& in) {
      return sparse_attention(tape, in, p.graph, p.transposed, options);
    });
  }
  {
    SCOPED_TRACE("chosen rows");
    compare(p.edges(p.chosen.nodes), p.chosen.nodes.size(),
            [&](Tape& tape, const AttentionInputs& in) {
              return sparse_attention(tape, in, p.graph, p.chosen, options);
            });
  }
  {
    SCOPED_TRACE("a sample");
    compare(p.sampled_edges(), p.sample.queries, [&](Tape& tape, const AttentionInputs& in) {
      return regular_attention(tape, in, p.sample, options);
    });
  }
}

TEST(EdgeFeatures, AttentionMatchesDoublePrecisionForwardAndBackward) {
  on_every_isa([] {
    for (size_t features : {1, 3, 8}) {
      check({1, 8, features});
      check({1, 64, features, true});
      check({2, 64, features, true});
    }
    check({1, 5, 2});
    check({2, 6, 11});
    check({2, 16, 9});
    check({3, 72, 4, true});
  });
}

TEST(EdgeFeatures, TemperatureClampAndNoScaleMatchDoublePrecision) {
  AttentionOptions options;
  options.scale_by_width = false;
  options.temperature = 0.6F;
  options.clamp = 2.0F;  // some scores are cut
  check({1, 8, 3, false, options});
  check({2, 32, 8, true, options});
}

TEST(EdgeFeatures, GiveTheSameBytesForAnyNumberOfThreads) {
  CsrGraph own;
  std::vector<NodeId> from, to;
  Random random(3, Purpose::test);
  for (size_t e = 0; e < 6000; ++e) {
    from.push_back(static_cast<NodeId>(random.below(1000, 2 * e)));
    to.push_back(static_cast<NodeId>(random.below(1000, 2 * e + 1)));
  }
  own = build_csr(1000, from, to).graph;
  AttentionGraph graph = with_features(own, random_values(own.edges() * 3, 5), 3);
  AttentionGraph transposed = transpose(graph);
  auto inputs = matrices(random_matrix(1000, 16, 1), random_matrix(1000, 16, 2),
                         random_matrix(1000, 16, 3), random_matrix(3, 16, 4),
                         random_matrix(3, 2, 5), random_matrix(3, 16, 6), random_matrix(3, 2, 7));
  AttentionOptions options;
  options.heads = 2;
  expect_same_bytes_for_any_thread_count(inputs, [&](Tape& tape, std::vector<Var>& in) {
    return sparse_attention(tape, attention_inputs(tape, in, false), graph, transposed, options);
  });
}

// One type whose edges are told apart by features, against two types.
TEST(EdgeFeatures, OneHotFeaturesAreEdgeTypes) {
  CsrGraph own = own_graph();
  AttentionGraph typed;
  typed.offsets = own.offsets;
  typed.neighbours = own.neighbours;
  typed.types = 2;
  Buffer<EdgeOffset> ends(kNodes, MemoryTag::graph);
  Buffer<float> x(own.edges() * 2, MemoryTag::graph);
  for (size_t i = 0; i < kNodes; ++i) {
    ends[i] = own.offsets[i] + own.degree(i) / 2;
    for (EdgeOffset e = own.offsets[i]; e < own.offsets[i + 1]; ++e) {
      x[2 * e] = e < ends[i] ? 1.0F : 0.0F;
      x[2 * e + 1] = 1.0F - x[2 * e];
    }
  }
  typed.segment_ends = std::move(ends);
  AttentionGraph plain = augment(own, {}, {.self_loops = false});
  add_edge_features(plain, own, std::move(x), 2);
  for (size_t width : {8, 32}) {
    Tape tape(false);
    AttentionInputs by_type;
    by_type.q = tape.constant(random_matrix(kNodes, width, 1));
    by_type.k = tape.constant(random_matrix(kNodes, width, 2));
    by_type.v = tape.constant(random_matrix(kNodes, width, 3));
    AttentionInputs by_feature = by_type;
    by_type.modulation = by_feature.edge_modulation = tape.constant(random_matrix(2, width, 4));
    by_type.bias = by_feature.edge_bias = tape.constant(random_matrix(2, 1, 5));
    by_feature.modulation = tape.constant(Matrix::zeros(3, width, MemoryTag::other));
    Var expected = sparse_attention(tape, by_type, typed, transpose(typed), {});
    Var actual = sparse_attention(tape, by_feature, plain, transpose(plain), {});
    expect_near(actual.value(), expected.value(), 1e-5, "attention");
    std::vector<float> scores(own.edges()), other(own.edges());
    sparse_attention_scores(scores, by_type, typed, {});
    sparse_attention_scores(other, by_feature, plain, {});
    for (size_t e = 0; e < scores.size(); ++e) ASSERT_NEAR(scores[e], other[e], 1e-5) << e;
  }
}

TEST(EdgeFeatures, AreRefusedWhereTheyDoNotFit) {
  CsrGraph own = own_graph();
  AttentionGraph graph = augment(own, {});
  EXPECT_THROW(add_edge_features(graph, own, random_values(own.edges() * 2 + 1, 1), 2), Error);
  Tape tape;
  AttentionInputs in;
  in.q = in.k = in.v = tape.variable(random_matrix(kNodes, 8, 1));
  in.edge_modulation = tape.variable(random_matrix(2, 8, 1));
  EXPECT_THROW(sparse_attention(tape, in, graph, transpose(graph), {}), Error);  // none are there
  add_edge_features(graph, own, random_values(own.edges() * 3, 1), 3);
  EXPECT_THROW(sparse_attention(tape, in, graph, transpose(graph), {}), Error);  // three for two
}

}  // namespace
}  // namespace spex
