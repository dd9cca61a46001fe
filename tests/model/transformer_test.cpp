#include <gtest/gtest.h>
#include <spex/core/error.h>
#include <spex/ops/losses.h>
#include <spex/sample/batch.h>

#include <numeric>

#include "gradient_check.h"
#include "model/transformer_reference.h"
#include "rounding.h"
#include "sample/support.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

TransformerOptions tiny_options() {
  TransformerOptions options;
  options.width = 6;
  options.heads = 2;
  options.layers = 2;
  return options;
}

Shape tiny_shape(size_t types = 3, size_t edge_features = 0) {
  return {kInputs, kClasses, types, 0, edge_features};
}

// Random features for the graph's own edges.
void add_features(AttentionGraph& graph, size_t count) {
  Buffer<EdgeOffset> rows(graph.nodes() + 1, MemoryTag::graph);
  rows[0] = 0;
  for (size_t i = 0; i < graph.nodes(); ++i)
    rows[i + 1] = rows[i] + graph.segment_end(0, i) - graph.offsets[i];
  Matrix random = random_matrix(rows[graph.nodes()], count, 21);
  Buffer<float> values(random.size(), MemoryTag::graph);
  std::copy(random.span().begin(), random.span().end(), values.begin());
  graph.features = {count, std::move(rows), std::move(values)};
}

void expect_matches_reference(const TransformerOptions& options, const Neighbourhood& neighbourhood,
                              const ReferenceRows& graph, float temperature = 1.0F,
                              const Shape& shape = tiny_shape()) {
  Transformer model(shape, options, 11);
  ModelCheck check;
  check.pass.temperature = temperature;
  expect_model_matches(
      model, neighbourhood,
      [&](const ReferenceModel& reference, const Table& features) {
        return ReferenceTransformer(options, reference).forward(features, graph, temperature);
      },
      check);
}

Neighbourhood whole(const AttentionGraph& graph, const AttentionGraph& transposed) {
  return whole_neighbourhood({&graph, &transposed, nullptr});
}

void expect_full_attention_matches(const TransformerOptions& options, const AttentionGraph& graph,
                                   float temperature = 1.0F) {
  AttentionGraph transposed = transpose(graph);
  expect_matches_reference(options, whole(graph, transposed), rows_of(graph), temperature,
                           tiny_shape(graph.types, graph.features.count));
}

TEST(Transformer, FinalNetworkMatchesDoublePrecision) {
  TransformerOptions options = tiny_options();
  options.post_layers = 1;
  expect_full_attention_matches(options, attention_graph(kNodes, 40, 4));
}

TEST(Transformer, EstimatorMatchesDoublePrecision) {
  TransformerOptions options = tiny_options();
  options.norm = Norm::layer;
  options.normalize_values = true;
  options.scale_by_width = true;
  expect_full_attention_matches(options, attention_graph(kNodes, 40, 4), 0.6F);
  options.expander_bias = -1.5;
  expect_full_attention_matches(options, attention_graph(kNodes, 40, 4), 0.6F);
}

TEST(Transformer, GraphNormAndTheAuthorsModulationMatchDoublePrecision) {
  TransformerOptions options = tiny_options();
  options.norm = Norm::graph;
  options.modulation = Modulation::sum;
  options.scale_by_width = true;
  expect_full_attention_matches(options, attention_graph(kNodes, 40, 4));
}

TEST(Transformer, ExphormerWithVirtualNodesMatchesDoublePrecision) {
  TransformerOptions options = tiny_options();
  options.type_bias = false;
  options.scale_by_width = true;
  options.clamp = 5.0F;
  options.virtual_nodes = 2;
  expect_full_attention_matches(options, attention_graph(kNodes, 40, 4, 2));
}

TEST(Transformer, SampledNetworkWithLogScoresMatchesDoublePrecision) {
  AttentionGraph graph = attention_graph(kNodes, 40, 4);
  Scores scores = random_scores(graph, 1);
  Sampler sampler(graph, &scores, Sampling::weighted, 5);
  std::vector<NodeId> all(kNodes);
  std::iota(all.begin(), all.end(), 0U);
  Batch batch = BatchBuilder(sampler, {4}, true).build(all, 0);
  ASSERT_EQ(batch.nodes, all);
  for (size_t heads : {1, 2}) {  // one head: folded
    TransformerOptions options = tiny_options();
    options.heads = heads;
    options.layers = 1;  // the reference keeps one pattern for all layers
    options.log_scores = true;
    expect_matches_reference(options, sampled_neighbourhood(batch.layers),
                             rows_of(batch.layers[0]));
  }
}

TEST(Transformer, EstimatorAndExphormerWithEdgeFeaturesMatchDoublePrecision) {
  AttentionGraph graph = attention_graph(kNodes, 40, 4, 2);
  add_features(graph, 3);
  TransformerOptions exphormer = tiny_options();
  exphormer.type_bias = false;
  exphormer.scale_by_width = true;
  exphormer.virtual_nodes = 2;
  expect_full_attention_matches(exphormer, graph);
  graph = attention_graph(kNodes, 40, 4);
  add_features(graph, 1);
  TransformerOptions estimator = tiny_options();
  estimator.heads = 1;
  estimator.norm = Norm::layer;
  estimator.normalize_values = true;
  estimator.scale_by_width = true;
  expect_full_attention_matches(estimator, graph, 0.6F);
  estimator.modulation = Modulation::sum;
  expect_full_attention_matches(estimator, graph, 0.6F);
}

TEST(Transformer, SampledNetworkWithEdgeFeaturesMatchesDoublePrecision) {
  AttentionGraph graph = attention_graph(kNodes, 40, 4);
  add_features(graph, 2);
  Sampler sampler(graph, nullptr, Sampling::uniform, 5);
  std::vector<NodeId> all(kNodes);
  std::iota(all.begin(), all.end(), 0U);
  Batch batch = BatchBuilder(sampler, {5}, false).build(all, 0);
  for (size_t heads : {1, 2}) {
    TransformerOptions options = tiny_options();
    options.heads = heads;
    options.layers = 1;  // the reference keeps one pattern for all layers
    expect_matches_reference(options, sampled_neighbourhood(batch.layers), rows_of(batch.layers[0]),
                             1.0F, tiny_shape(3, 2));
  }
}

TEST(Transformer, SparseFeaturesGiveTheLogitsOfTheSameDenseOnes) {
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
  Transformer network(tiny_shape(), tiny_options(), 11);
  Neighbourhood plan = whole(graph, transposed);
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
  Transformer network;
  std::vector<NodeId> all = std::vector<NodeId>(kCount);

  explicit Batched(bool log_scores = false, size_t edge_features = 0)
      : network(tiny_shape(3, edge_features), options(log_scores), 11) {
    if (edge_features > 0) {
      add_features(graph, edge_features);
      transposed = transpose(graph);
    }
    std::iota(all.begin(), all.end(), 0U);
    disturb(network.parameters());
    for (const auto& [name, values] : network.state())
      for (size_t c = 0; c < values.size(); ++c)
        values[c] = name.ends_with("mean") ? 0.1F * static_cast<float>(c)
                                           : 0.5F + 0.2F * static_cast<float>(c);
  }

  static TransformerOptions options(bool log_scores) {
    TransformerOptions options = tiny_options();
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
      Var part =
          network.forward(tape, {rows.view(), nullptr}, sampled_neighbourhood(batch.layers), {});
      copy(out.view().block(begin, count), part.value());
    }
    return out;
  }
};

TEST(BatchedTransformer, AnyBatchSizeGivesTheLogitsOfTheWholeGraph) {
  for (bool log_scores : {false, true}) {
    Batched b(log_scores, log_scores ? 3 : 0);
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

void expect_large_degrees_give_full_attention(Batched& b) {
  size_t largest = 0;
  for (size_t i = 0; i < Batched::kCount; ++i)
    largest = std::max<size_t>(largest, b.graph.offsets[i + 1] - b.graph.offsets[i]);
  Tape tape(false);
  Var full =
      b.network.forward(tape, {b.features.view(), nullptr}, whole(b.graph, b.transposed), {});
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

TEST(BatchedTransformer, DegreesOfTheLargestRowGiveFullAttention) {
  Batched plain, with_features(false, 3);
  expect_large_degrees_give_full_attention(plain);
  expect_large_degrees_give_full_attention(with_features);
}

TEST(Transformer, RefusesAWidthThatHeadsCannotShare) {
  TransformerOptions options = tiny_options();
  options.heads = 4;
  EXPECT_THROW(Transformer(tiny_shape(), options, 0), Error);
}

TEST(Transformer, RefusesAGraphWithOtherEdgeTypes) {
  AttentionGraph graph = attention_graph(kNodes, 40, 4, 1), transposed = transpose(graph);
  Matrix features = random_matrix(kNodes, kInputs, 4);
  Transformer network(tiny_shape(), tiny_options(), 0);
  Tape tape(false);
  EXPECT_THROW(network.forward(tape, {features.view(), nullptr}, whole(graph, transposed), {}),
               Error);
}

TEST(Transformer, SameSeedGivesTheSameParametersAndAnotherDoesNot) {
  TransformerOptions tiny = tiny_options();
  Transformer one(tiny_shape(), tiny, 7), same(tiny_shape(), tiny, 7), other(tiny_shape(), tiny, 8);
  auto weights = [](Transformer& network) {
    auto span = network.parameters().at("layers.1.q.weight").value.span();
    return std::vector<float>(span.begin(), span.end());
  };
  EXPECT_EQ(weights(one), weights(same));
  EXPECT_NE(weights(one), weights(other));
}

TEST(Transformer, RecomputedLayersGiveTheSameGradientsAndAverages) {
  AttentionGraph graph = attention_graph(kNodes, 40, 4), transposed = transpose(graph);
  Sampler sampler(graph, nullptr, Sampling::uniform, 5);
  std::vector<NodeId> all(kNodes);
  std::iota(all.begin(), all.end(), 0U);
  Batch batch = BatchBuilder(sampler, {4, 4}, false).build(all, 0);
  Example example;
  auto numbers = [&](const Neighbourhood& plan, size_t heads, bool recompute) {
    TransformerOptions options = tiny_options();
    options.heads = heads;
    options.dropout = 0.3F;
    options.recompute = recompute;
    Transformer network(tiny_shape(), options, 7);
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
    for (const auto& [name, kept] : network.state()) append(kept);
    return values;
  };
  for (size_t heads : {1, 2})  // one head over samples: folded
    for (const Neighbourhood& plan :
         {whole(graph, transposed), sampled_neighbourhood(batch.layers)})
      EXPECT_EQ(numbers(plan, heads, true), numbers(plan, heads, false));
}

// A sample of the whole graph whose last layer computes the chosen nodes only.
Neighbourhood chosen_sample(std::span<const NeighbourMatrix> layers, const NeighbourMatrix& last,
                            std::span<const NodeId> nodes) {
  Neighbourhood part = sampled_neighbourhood(layers);
  part.layers.back().attention = Pattern::sampled(last);
  part.layers.back().chosen = nodes;
  return part;
}

// With a norm that looks at one row at a time, what the last layer leaves out changes nothing.
TEST(Transformer, ALastLayerOfChosenNodesTrainsAsOneOfAllNodes) {
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
  ChosenGraphs chosen{choose_rows(b.transposed, nodes), {}};
  NeighbourMatrix pattern = choose_rows(batch.layers.back(), nodes);

  for (size_t heads : {1, 2})  // one head over samples: folded
    for (bool recompute : {false, true}) {
      TransformerOptions options = Batched::options(false);
      options.norm = Norm::layer;
      options.heads = heads;
      options.recompute = recompute;
      Transformer network(tiny_shape(), options, 11);
      disturb(network.parameters());
      auto gradients = [&](const Neighbourhood& plan, bool part) {
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
      auto expect_same = [&](const Neighbourhood& part, const Neighbourhood& whole) {
        std::vector<float> a = gradients(part, true), e = gradients(whole, false);
        double largest = 0;
        for (float value : e) largest = std::max(largest, std::abs(double{value}));
        for (size_t i = 0; i < e.size(); ++i) ASSERT_NEAR(a[i], e[i], 1e-5 * largest) << i;
      };
      expect_same(whole_neighbourhood({&b.graph, &b.transposed, nullptr}, 3, chosen),
                  whole(b.graph, b.transposed));
      expect_same(chosen_sample(batch.layers, pattern, nodes), sampled_neighbourhood(batch.layers));
    }
}

TEST(Transformer, DropoutChangesTrainingOnlyAndDependsOnTheStep) {
  AttentionGraph graph = attention_graph(kNodes, 40, 4), transposed = transpose(graph);
  Matrix features = random_matrix(kNodes, kInputs, 4);
  TransformerOptions options = tiny_options();
  options.norm = Norm::layer;
  options.dropout = 0.5F;
  options.pre_layers = 0;
  Transformer network(tiny_shape(), options, 7);
  auto logits = [&](bool training, uint32_t step) {
    Tape tape;
    Pass pass;
    pass.training = training;
    pass.step = step;
    Var out = network.forward(tape, {features.view(), nullptr}, whole(graph, transposed), pass);
    return std::vector<float>(out.value().data, out.value().data + out.value().size());
  };
  EXPECT_EQ(logits(false, 0), logits(false, 1));
  EXPECT_EQ(logits(true, 1), logits(true, 1));
  EXPECT_NE(logits(true, 0), logits(true, 1));
  EXPECT_NE(logits(true, 0), logits(false, 0));
}

}  // namespace
}  // namespace spex
