#include "model/spexphormer_local.h"

#include <spex/core/error.h>
#include <spex/model/registry.h>
#include <spex/sample/batch.h>

#include <cstring>
#include <numeric>

#include "model/convolution_reference.h"
#include "model/transformer_reference.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

struct Graph {
  AttentionGraph attention = attention_graph(kNodes, 40, 4);
  AttentionGraph transposed = transpose(attention);
  AttentionGraph local = attention_graph(kNodes, 40, 0);
  Graphs graphs() const { return {&attention, &transposed, &local}; }
};

SpexphormerLocalOptions tiny(LocalBranch conv) {
  SpexphormerLocalOptions options;
  options.layers = 2;
  options.attention_layers = 1;
  options.width = 6;
  options.conv = conv;
  options.dropout = 0;
  return options;
}

Convolution convolution_of(LocalBranch branch) {
  return branch == LocalBranch::gat    ? Convolution::gat
         : branch == LocalBranch::sage ? Convolution::sage
                                       : Convolution::gcn;
}

// `seen`: whom each layer attends to.
Table reference(const ReferenceModel& m, const SpexphormerLocalOptions& o, const Table& features,
                const std::vector<ReferenceRows>& seen, const ReferenceRows& local) {
  TransformerOptions t;
  t.width = o.width;
  t.heads = o.heads;
  t.scale_by_width = true;
  ReferenceTransformer attending(t, m);
  Table x = o.pre_linear ? m.linear(features, "pre") : features;
  for (size_t i = 0; i < o.layers; ++i) {
    std::string name = "layers." + std::to_string(i);
    Table y(x.rows, o.width);
    if (o.residual) y = m.linear(x, name + ".residual");
    if (o.conv != LocalBranch::none)
      y = sum(y, convolution(m, convolution_of(o.conv), o.heads, x, name + ".conv", local));
    if (i + o.attention_layers >= o.layers)
      y = combination(y, 1.0, attending.attention(x, seen[i], name, 1.0),
                      m.p.at(name + ".gamma")(0, 0));
    x = relu(m.norm(y, name + ".norm", o.norm));
  }
  return m.linear(x, "head");
}

constexpr LocalBranch kBranches[] = {LocalBranch::none, LocalBranch::gcn, LocalBranch::sage,
                                     LocalBranch::gat};

TEST(SpexphormerLocal, EveryBranchMatchesDoublePrecision) {
  Graph graph;
  std::vector<ReferenceRows> seen(2, rows_of(graph.attention));
  for (LocalBranch branch : kBranches) {
    SCOPED_TRACE(static_cast<int>(branch));
    SpexphormerLocalOptions options = tiny(branch);
    options.pre_linear = branch == LocalBranch::sage;
    options.residual = branch != LocalBranch::gat;
    options.norm = branch == LocalBranch::gat ? Norm::layer : Norm::batch;
    auto model = options.make({kInputs, kClasses, 3}, 11);
    expect_model_matches(*model, whole_neighbourhood(graph.graphs()),
                         [&](const ReferenceModel& m, const Table& features) {
                           return reference(m, options, features, seen, rows_of(graph.local));
                         });
  }
}

// Attention draws in the last layer, the local branch sees everything.
TEST(SpexphormerLocal, ASampleMatchesDoublePrecision) {
  Graph graph;
  SpexphormerLocalOptions options = tiny(LocalBranch::gcn);
  options.degree = 4;
  options.sampling = Sampling::uniform;
  Needs needs = options.needs();
  ASSERT_EQ(needs.sampling.degrees, (std::vector<size_t>{0, 4}));
  Sampler attention(graph.attention, nullptr, Sampling::uniform, 5);
  Sampler local = Sampler::with_self_loops(graph.local, 5);
  std::vector<NodeId> all(kNodes);
  std::iota(all.begin(), all.end(), 0U);
  Batch batch =
      BatchBuilder(&attention, needs.sampling.degrees, &local, needs.sampling.local, false)
          .build(all, 0);
  ASSERT_EQ(batch.nodes, all);
  std::vector<ReferenceRows> seen;
  for (const NeighbourMatrix& layer : batch.layers) seen.push_back(rows_of(layer));
  ASSERT_TRUE(seen[0][3].empty());
  auto model = options.make({kInputs, kClasses, 3}, 11);
  Neighbourhood neighbourhood =
      sampled_neighbourhood(batch.layers, batch.local, &graph.local, batch.nodes);
  expect_model_matches(*model, neighbourhood, [&](const ReferenceModel& m, const Table& features) {
    return reference(m, options, features, seen, rows_of(graph.local));
  });
}

// Batches whose caps are never reached compute what the whole graph gives.
TEST(SpexphormerLocal, BatchesOfAllNeighboursGiveTheLogitsOfTheWholeGraph) {
  Graph graph;
  Example example;
  SpexphormerLocalOptions options = tiny(LocalBranch::gat);
  options.degree = 1000;
  Sampler attention(graph.attention, nullptr, Sampling::uniform, 5);
  Sampler local = Sampler::with_self_loops(graph.local, 5);
  std::vector<NodeId> targets = {7, 3, 20, 11};
  Batch batch = BatchBuilder(&attention, options.needs().sampling.degrees, &local, {40, 40}, false)
                    .build(targets, 0);
  Matrix rows(batch.nodes.size(), kInputs, MemoryTag::other);
  for (size_t i = 0; i < batch.nodes.size(); ++i)
    copy(rows.view().block(i, 1), example.features.view().block(batch.nodes[i], 1));
  auto model = options.make({kInputs, kClasses, 3}, 11);
  disturb(model->parameters());
  Tape tape(false);
  Var all = model->forward(tape, {example.features.view(), nullptr},
                           whole_neighbourhood(graph.graphs()), {});
  Var some = model->forward(
      tape, {rows.view(), nullptr},
      sampled_neighbourhood(batch.layers, batch.local, &graph.local, batch.nodes), {});
  for (size_t i = 0; i < targets.size(); ++i)
    for (size_t c = 0; c < kClasses; ++c)
      EXPECT_NEAR(some.value()(i, c), all.value()(targets[i], c), 1e-4);
}

TEST(SpexphormerLocal, StatisticsOfSomeRowsMatchDoublePrecision) {
  Graph graph;
  std::vector<ReferenceRows> seen(2, rows_of(graph.attention));
  SpexphormerLocalOptions options = tiny(LocalBranch::gcn);
  auto model = options.make({kInputs, kClasses, 3}, 11);
  std::vector<NodeId> counted = {1, 4, 5, 9, 13, 20, 22};
  ModelCheck check;
  check.pass.counted = {counted, kNodes};
  expect_model_matches(
      *model, whole_neighbourhood(graph.graphs()),
      [&](ReferenceModel m, const Table& features) {
        m.counted = counted;
        return reference(m, options, features, seen, rows_of(graph.local));
      },
      check);
}

TEST(SpexphormerLocal, StartsAsTheNetworkWithoutAttention) {
  Graph graph;
  Example example;
  SpexphormerLocalOptions options = tiny(LocalBranch::gcn);
  auto model = options.make({kInputs, kClasses, 3}, 11);
  Tape tape(false);
  ModelInput input{example.features.view(), nullptr};
  Var with = model->forward(tape, input, whole_neighbourhood(graph.graphs()), {});
  for (Parameter& parameter : model->parameters())
    if (parameter.name.ends_with(".v.weight")) fill(parameter.value, 0.0F);
  Var without = model->forward(tape, input, whole_neighbourhood(graph.graphs()), {});
  EXPECT_EQ(
      0, std::memcmp(with.value().data, without.value().data, with.value().size() * sizeof(float)));
}

TEST(SpexphormerLocal, NeedsWhatItsBranchesLookAt) {
  SpexphormerLocalOptions options = tiny(LocalBranch::gcn);
  EXPECT_TRUE(options.needs().local && options.needs().attention);
  EXPECT_FALSE(options.needs().scores) << "attention over all edges draws nothing";
  options.degree = 5;
  EXPECT_TRUE(options.needs().scores);
  options.attention_layers = 0;
  EXPECT_FALSE(options.needs().attention || options.needs().scores);
  options.conv = LocalBranch::none;
  EXPECT_EQ(options.needs().batching, Batching::rows);
  options.attention_layers = 4;
  EXPECT_THROW(options.check(), Error);
}

}  // namespace
}  // namespace spex
