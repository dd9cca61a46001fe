#include <gtest/gtest.h>
#include <spex/core/error.h>
#include <spex/graph/builder.h>
#include <spex/graph/expander.h>
#include <spex/ops/losses.h>
#include <spex/sample/batch.h>

#include <numeric>

#include "gradient_check.h"
#include "model/network_reference.h"
#include "rounding.h"
#include "sample/support.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

constexpr size_t kNodes = 24;
constexpr size_t kInputs = 5;
constexpr size_t kClasses = 3;

AttentionGraph attention_graph(size_t nodes, size_t edges, size_t expander_degree,
                               size_t virtual_nodes = 0) {
  Random random(3, Purpose::test, 1);
  std::vector<NodeId> sources, targets;
  for (size_t e = 0; e < edges; ++e) {
    sources.push_back(static_cast<NodeId>(random.below(nodes, 2 * e)));
    targets.push_back(static_cast<NodeId>(random.below(nodes, 2 * e + 1)));
  }
  ExpanderOptions expander;
  expander.degree = expander_degree;
  AugmentOptions augmentation;
  augmentation.virtual_nodes = virtual_nodes;
  return augment(build_csr(nodes, sources, targets).graph, make_expander(nodes, expander).graph,
                 augmentation);
}

ReferenceRows rows_of(const AttentionGraph& graph) {
  ReferenceRows rows(graph.nodes());
  for (size_t i = 0; i < graph.nodes(); ++i)
    for (size_t t = 0; t < graph.types; ++t)
      for (EdgeOffset e = graph.segment_begin(t, i); e < graph.segment_end(t, i); ++e)
        rows[i].push_back({graph.neighbours[e], t});
  return rows;
}

ReferenceRows rows_of(const NeighbourMatrix& pattern) {
  ReferenceRows rows(pattern.queries);
  for (size_t i = 0; i < pattern.queries; ++i)
    for (size_t n = 0; n < pattern.count(i); ++n) {
      size_t type = 0;
      while (n >= pattern.ends[type * pattern.queries + i]) ++type;
      double log_score = pattern.log_score.empty() ? 0 : pattern.log_score[i * pattern.k + n];
      rows[i].push_back({pattern.indices[i * pattern.k + n], type, log_score});
    }
  return rows;
}

NetworkOptions tiny_options(size_t types = 3) {
  NetworkOptions options;
  options.inputs = kInputs;
  options.outputs = kClasses;
  options.width = 6;
  options.heads = 2;
  options.layers = 2;
  options.edge_types = types;
  return options;
}

// Norms start at 1 and 0 and the weight on log-scores at 0; other values show more.
void disturb(Parameters& parameters) {
  uint32_t stream = 0;
  for (Parameter& parameter : parameters) {
    Random random(17, Purpose::test, 2, stream++);
    for (size_t i = 0; i < parameter.value.size(); ++i)
      parameter.value.data()[i] += static_cast<float>(0.2 * random.normal(i));
  }
}

struct Example {
  Matrix features = random_matrix(kNodes, kInputs, 4);
  std::vector<int32_t> classes;
  std::vector<NodeId> rows;  // those that count in the loss

  Example() {
    for (size_t i = 0; i < kNodes; ++i) classes.push_back(static_cast<int32_t>(i * i % kClasses));
    for (NodeId i = 0; i < kNodes; i += 2) rows.push_back(i);
  }

  Table table() const {
    Table out(kNodes, kInputs);
    std::copy(features.span().begin(), features.span().end(), out.values.begin());
    return out;
  }

  double loss(const Table& logits) const {
    double sum = 0;
    for (NodeId r : rows) {
      double all = 0;
      for (size_t c = 0; c < kClasses; ++c) all += std::exp(logits(r, c));
      sum += std::log(all) - logits(r, static_cast<size_t>(classes[r]));
    }
    return sum / static_cast<double>(rows.size());
  }
};

// Loss, and the gradient of every entry of every parameter, against central differences of the
// double-precision program.
void expect_matches_reference(const NetworkOptions& options, const AttentionPlan& plan,
                              const ReferenceRows& graph, float temperature = 1.0F) {
  Example example;
  Network network(options, 11);
  disturb(network.parameters());
  ReferenceNetwork reference(options, network.parameters());
  auto reference_loss = [&] {
    return example.loss(reference.forward(example.table(), graph, temperature));
  };

  Tape tape;
  Pass pass;
  pass.training = true;
  pass.temperature = temperature;
  Var logits = network.forward(tape, {example.features.view(), nullptr}, plan, pass);
  Var loss = softmax_cross_entropy(tape, logits, example.classes, example.rows);
  EXPECT_NEAR(loss.value()(0, 0), reference_loss(), 1e-5);
  network.parameters().zero_gradients();
  tape.backward(loss);

  constexpr double kStep = 1e-5;
  for (const Parameter& parameter : network.parameters()) {
    std::vector<double>& values = reference.p.at(parameter.name).values;
    double largest = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      double before = values[i];
      values[i] = before + kStep;
      double above = reference_loss();
      values[i] = before - kStep;
      double expected = (above - reference_loss()) / (2 * kStep);
      values[i] = before;
      largest = std::max(largest, std::abs(expected));
      ASSERT_NEAR(parameter.gradient.data()[i], expected, 2e-5 + 1e-4 * std::abs(expected))
          << parameter.name << ", entry " << i;
    }
    // Some biases cancel: before batch norm, and those all edges of a softmax share.
    EXPECT_TRUE(largest > 1e-4 || parameter.name.ends_with(".bias"))
        << parameter.name << " does not matter to the loss: a check that cannot fail";
  }
}

void expect_full_attention_matches(const NetworkOptions& options, const AttentionGraph& graph,
                                   float temperature = 1.0F) {
  AttentionGraph transposed = transpose(graph);
  expect_matches_reference(options, full_attention(graph, transposed), rows_of(graph), temperature);
}

TEST(Network, FinalNetworkMatchesDoublePrecision) {
  NetworkOptions options = tiny_options();
  options.post_layers = 1;
  expect_full_attention_matches(options, attention_graph(kNodes, 40, 4));
}

TEST(Network, EstimatorMatchesDoublePrecision) {
  NetworkOptions options = tiny_options();
  options.norm = Norm::layer;
  options.normalize_values = true;
  options.scale_by_width = true;
  expect_full_attention_matches(options, attention_graph(kNodes, 40, 4), 0.6F);
}

TEST(Network, GraphNormAndTheAuthorsModulationMatchDoublePrecision) {
  NetworkOptions options = tiny_options();
  options.norm = Norm::graph;
  options.modulation = Modulation::sum;
  options.scale_by_width = true;
  expect_full_attention_matches(options, attention_graph(kNodes, 40, 4));
}

TEST(Network, ExphormerWithVirtualNodesMatchesDoublePrecision) {
  NetworkOptions options = tiny_options(4);
  options.type_bias = false;
  options.scale_by_width = true;
  options.clamp = 5.0F;
  options.virtual_nodes = 2;
  expect_full_attention_matches(options, attention_graph(kNodes, 40, 4, 2));
}

TEST(Network, SampledNetworkWithLogScoresMatchesDoublePrecision) {
  AttentionGraph graph = attention_graph(kNodes, 40, 4);
  Scores scores = random_scores(graph, 1);
  Sampler sampler(graph, &scores, Sampling::weighted, 5);
  std::vector<NodeId> all(kNodes);
  std::iota(all.begin(), all.end(), 0U);
  Batch batch = BatchBuilder(sampler, {4}, true).build(all, 0);
  ASSERT_EQ(batch.nodes, all);
  for (size_t heads : {1, 2}) {  // one head: folded
    NetworkOptions options = tiny_options();
    options.heads = heads;
    options.layers = 1;  // the reference keeps one pattern for all layers
    options.log_scores = true;
    expect_matches_reference(options, sampled_attention(batch.layers), rows_of(batch.layers[0]));
  }
}

TEST(Network, SparseFeaturesGiveTheLogitsOfTheSameDenseOnes) {
  AttentionGraph graph = attention_graph(kNodes, 40, 4), transposed = transpose(graph);
  Matrix dense = random_matrix(kNodes, kInputs, 4);
  Buffer<uint64_t> offsets(kNodes + 1, MemoryTag::features);
  std::vector<uint32_t> columns;
  std::vector<float> values;
  offsets[0] = 0;
  for (size_t r = 0; r < kNodes; ++r) {
    for (uint32_t c = 0; c < kInputs; ++c) {
      if (dense(r, c) < 0) dense(r, c) = 0;
      if (dense(r, c) == 0) continue;
      columns.push_back(c);
      values.push_back(dense(r, c));
    }
    offsets[r + 1] = values.size();
  }
  SparseMatrix sparse{kNodes, kInputs, std::move(offsets), shared(columns), shared(values)};
  Network network(tiny_options(), 11);
  AttentionPlan plan = full_attention(graph, transposed);
  Tape tape(false);
  Var one = network.forward(tape, {dense.view(), nullptr}, plan, {});
  Var other = network.forward(tape, {{}, &sparse}, plan, {});
  expect_near(other.value(), one.value(), 1e-5, "logits");
}

// A larger example for batches: 300 nodes, batch norm's statistics as after some training.
struct Batched {
  static constexpr size_t kCount = 300;
  AttentionGraph graph = attention_graph(kCount, 900, 6);
  AttentionGraph transposed = transpose(graph);
  Scores scores = random_scores(graph, 3);
  Matrix features = random_matrix(kCount, kInputs, 4);
  Network network;
  std::vector<NodeId> all = std::vector<NodeId>(kCount);

  explicit Batched(bool log_scores = false) : network(options(log_scores), 11) {
    std::iota(all.begin(), all.end(), 0U);
    disturb(network.parameters());
    for (auto& [name, statistics] : network.statistics())
      for (size_t c = 0; c < statistics.mean.size(); ++c) {
        statistics.mean[c] = 0.1F * static_cast<float>(c);
        statistics.variance[c] = 0.5F + 0.2F * static_cast<float>(c);
      }
  }

  static NetworkOptions options(bool log_scores) {
    NetworkOptions options = tiny_options();
    options.width = 16;
    options.layers = 3;
    options.log_scores = log_scores;
    return options;
  }

  // Products of other shapes add in another order, and the vectors of a kernel meet other rows. A
  // layer adds over a row of weights for queries, keys and values, over a head, over `degree`
  // neighbours, over the row again, and over the feed-forward part's twice; before and behind the
  // layers come one product each.
  static double tolerance(size_t degree) {
    constexpr size_t kWidth = 16, kHead = 8, kHidden = 2 * kWidth;
    size_t layer = kWidth + kHead + degree + kWidth + kWidth + kHidden;
    return rounding_difference(kInputs + 3 * layer + kWidth);
  }

  // The logits of all nodes, computed for `size` targets at a time.
  Matrix logits(BatchBuilder& builder, size_t size, uint32_t epoch) {
    Matrix out(kCount, kClasses, MemoryTag::other);
    for (size_t begin = 0; begin < kCount; begin += size) {
      size_t count = std::min(size, kCount - begin);
      Batch batch = builder.build(std::span(all).subspan(begin, count), epoch);
      Matrix rows(batch.nodes.size(), kInputs, MemoryTag::other);
      for (size_t i = 0; i < batch.nodes.size(); ++i)
        copy(rows.view().block(i, 1), features.view().block(batch.nodes[i], 1));
      Tape tape(false);
      Var part = network.forward(tape, {rows.view(), nullptr}, sampled_attention(batch.layers), {});
      copy(out.view().block(begin, count), part.value());
    }
    return out;
  }
};

TEST(BatchedNetwork, AnyBatchSizeGivesTheLogitsOfTheWholeGraph) {
  for (bool log_scores : {false, true}) {
    Batched b(log_scores);
    Sampler sampler(b.graph, &b.scores, Sampling::weighted, 5);
    BatchBuilder builder(sampler, {4, 3, 5}, log_scores);
    Matrix whole = b.logits(builder, Batched::kCount, 2);
    for (size_t size : {1, 7, 64}) {
      SCOPED_TRACE(size);
      expect_near(b.logits(builder, size, 2), whole, Batched::tolerance(5), "logits");
    }
    double difference = 0;
    Matrix other = b.logits(builder, Batched::kCount, 3);
    for (size_t i = 0; i < other.size(); ++i)
      difference = std::max(difference, std::abs(double{other.data()[i]} - whole.data()[i]));
    EXPECT_GT(difference, 1e-2) << "another epoch draws another sample: the check can fail";
  }
}

TEST(BatchedNetwork, DegreesOfTheLargestRowGiveFullAttention) {
  Batched b;
  size_t largest = 0;
  for (size_t i = 0; i < Batched::kCount; ++i)
    largest = std::max<size_t>(largest, b.graph.offsets[i + 1] - b.graph.offsets[i]);
  Tape tape(false);
  Var full = b.network.forward(tape, {b.features.view(), nullptr},
                               full_attention(b.graph, b.transposed), {});
  for (Sampling sampling : {Sampling::weighted, Sampling::uniform, Sampling::top}) {
    Sampler sampler(b.graph, &b.scores, sampling, 5);
    BatchBuilder builder(sampler, {largest, largest, largest + 3}, false);
    for (size_t size : {7UL, Batched::kCount}) {
      SCOPED_TRACE(size);
      expect_near(b.logits(builder, size, 0), full.value(), Batched::tolerance(largest), "logits");
    }
    BatchBuilder narrow(sampler, {largest / 2, largest, largest}, false);
    double difference = 0;
    Matrix cut = b.logits(narrow, Batched::kCount, 0);
    for (size_t i = 0; i < cut.size(); ++i)
      difference = std::max(difference, std::abs(double{cut.data()[i]} - full.value().data[i]));
    EXPECT_GT(difference, 1e-3) << "half the degree must show";
  }
}

TEST(Network, RefusesAWidthThatHeadsCannotShare) {
  NetworkOptions options = tiny_options();
  options.heads = 4;
  EXPECT_THROW(Network(options, 0), Error);
}

TEST(Network, RefusesAGraphWithOtherEdgeTypes) {
  AttentionGraph graph = attention_graph(kNodes, 40, 4, 1), transposed = transpose(graph);
  Matrix features = random_matrix(kNodes, kInputs, 4);
  Network network(tiny_options(), 0);
  Tape tape(false);
  EXPECT_THROW(
      network.forward(tape, {features.view(), nullptr}, full_attention(graph, transposed), {}),
      Error);
}

TEST(Network, SameSeedGivesTheSameParametersAndAnotherDoesNot) {
  Network one(tiny_options(), 7), same(tiny_options(), 7), other(tiny_options(), 8);
  auto weights = [](Network& network) {
    auto span = network.parameters().at("layers.1.q.weight").value.span();
    return std::vector<float>(span.begin(), span.end());
  };
  EXPECT_EQ(weights(one), weights(same));
  EXPECT_NE(weights(one), weights(other));
}

TEST(Network, RecomputedLayersGiveTheSameGradientsAndAverages) {
  AttentionGraph graph = attention_graph(kNodes, 40, 4), transposed = transpose(graph);
  Sampler sampler(graph, nullptr, Sampling::uniform, 5);
  std::vector<NodeId> all(kNodes);
  std::iota(all.begin(), all.end(), 0U);
  Batch batch = BatchBuilder(sampler, {4, 4}, false).build(all, 0);
  Example example;
  auto numbers = [&](const AttentionPlan& plan, size_t heads, bool recompute) {
    NetworkOptions options = tiny_options();
    options.heads = heads;
    options.dropout = 0.3F;
    options.recompute = recompute;
    Network network(options, 7);
    Pass pass;
    pass.training = true;
    pass.step = 3;
    Tape tape;
    Var logits = network.forward(tape, {example.features.view(), nullptr}, plan, pass);
    network.parameters().zero_gradients();
    tape.backward(softmax_cross_entropy(tape, logits, example.classes, example.rows));
    std::vector<float> values(logits.value().data, logits.value().data + logits.value().size());
    auto append = [&](const auto& more) { values.insert(values.end(), more.begin(), more.end()); };
    for (const Parameter& parameter : network.parameters()) append(parameter.gradient.span());
    for (const auto& [name, statistics] : network.statistics()) {
      append(statistics.mean);
      append(statistics.variance);
    }
    return values;
  };
  for (size_t heads : {1, 2})  // one head over samples: folded
    for (const AttentionPlan& plan :
         {full_attention(graph, transposed), sampled_attention(batch.layers)})
      EXPECT_EQ(numbers(plan, heads, true), numbers(plan, heads, false));
}

// With a norm that looks at one row at a time, what the last layer leaves out changes nothing.
TEST(Network, ALastLayerOfChosenNodesTrainsAsOneOfAllNodes) {
  Batched b;
  Sampler sampler(b.graph, &b.scores, Sampling::weighted, 5);
  BatchBuilder builder(sampler, {4, 3, 5}, false);
  Batch batch = builder.build(b.all, 1);
  std::vector<NodeId> nodes, places;
  std::vector<int32_t> classes(Batched::kCount), chosen_classes;
  for (NodeId i = 0; i < Batched::kCount; ++i) {
    classes[i] = static_cast<int32_t>(i % kClasses);
    if (i % 3 == 1 || i > 250) nodes.push_back(i);
  }
  places.resize(nodes.size());
  std::iota(places.begin(), places.end(), 0U);
  for (NodeId node : nodes) chosen_classes.push_back(classes[node]);
  ChosenRows chosen = choose_rows(b.transposed, nodes);
  NeighbourMatrix pattern = choose_rows(batch.layers.back(), nodes);

  for (size_t heads : {1, 2})  // one head over samples: folded
    for (bool recompute : {false, true}) {
      NetworkOptions options = Batched::options(false);
      options.norm = Norm::layer;
      options.heads = heads;
      options.recompute = recompute;
      Network network(options, 11);
      disturb(network.parameters());
      auto gradients = [&](const AttentionPlan& plan, bool part) {
        Tape tape;
        Pass pass;
        pass.training = true;
        Var logits = network.forward(tape, {b.features.view(), nullptr}, plan, pass);
        EXPECT_EQ(logits.rows(), part ? nodes.size() : Batched::kCount);
        network.parameters().zero_gradients();
        tape.backward(part ? softmax_cross_entropy(tape, logits, chosen_classes, places)
                           : softmax_cross_entropy(tape, logits, classes, nodes));
        std::vector<float> all;
        for (const Parameter& parameter : network.parameters())
          all.insert(all.end(), parameter.gradient.span().begin(), parameter.gradient.span().end());
        return all;
      };
      auto expect_same = [&](const AttentionPlan& part, const AttentionPlan& whole) {
        std::vector<float> a = gradients(part, true), e = gradients(whole, false);
        double largest = 0;
        for (float value : e) largest = std::max(largest, std::abs(double{value}));
        for (size_t i = 0; i < e.size(); ++i) ASSERT_NEAR(a[i], e[i], 1e-5 * largest) << i;
      };
      expect_same(full_attention(b.graph, b.transposed, 2, chosen),
                  full_attention(b.graph, b.transposed));
      expect_same(sampled_attention(batch.layers, pattern, nodes), sampled_attention(batch.layers));
    }
}

TEST(Network, DropoutChangesTrainingOnlyAndDependsOnTheStep) {
  AttentionGraph graph = attention_graph(kNodes, 40, 4), transposed = transpose(graph);
  Matrix features = random_matrix(kNodes, kInputs, 4);
  NetworkOptions options = tiny_options();
  options.norm = Norm::layer;
  options.dropout = 0.5F;
  options.pre_layers = 0;
  Network network(options, 7);
  auto logits = [&](bool training, uint32_t step) {
    Tape tape;
    Pass pass;
    pass.training = training;
    pass.step = step;
    Var out =
        network.forward(tape, {features.view(), nullptr}, full_attention(graph, transposed), pass);
    return std::vector<float>(out.value().data, out.value().data + out.value().size());
  };
  EXPECT_EQ(logits(false, 0), logits(false, 1));
  EXPECT_EQ(logits(true, 1), logits(true, 1));
  EXPECT_NE(logits(true, 0), logits(true, 1));
  EXPECT_NE(logits(true, 0), logits(false, 0));
}

}  // namespace
}  // namespace spex
