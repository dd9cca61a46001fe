#include "model/gnn.h"

#include <spex/model/registry.h>
#include <spex/sample/batch.h>

#include <numeric>

#include "model/convolution_reference.h"
#include "model/mlp.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

Table reference(const ReferenceModel& m, const GnnOptions& o, const Table& features,
                const ReferenceRows& rows) {
  Table x = o.pre_linear ? m.linear(features, "pre") : features;
  for (size_t i = 0; i < o.layers; ++i) {
    std::string name = "layers." + std::to_string(i) + ".";
    Table y = convolution(m, o.convolution, o.heads, x, name + "conv", rows);
    if (o.residual) y = sum(y, m.linear(x, name + "residual"));
    x = relu(m.norm(y, name + "norm", o.norm));
  }
  return m.linear(x, "head");
}

GnnOptions tiny(Convolution kind) {
  GnnOptions options;
  options.convolution = kind;
  options.layers = 2;
  options.width = 6;
  options.heads = kind == Convolution::gat ? 2 : 1;
  options.dropout = 0;
  return options;
}

constexpr Convolution kKinds[] = {Convolution::gcn, Convolution::sage, Convolution::gat};

TEST(Gnn, EveryConvolutionMatchesDoublePrecision) {
  AttentionGraph graph = attention_graph(kNodes, 40, 0);
  Neighbourhood whole = whole_neighbourhood({nullptr, nullptr, &graph});
  for (Convolution kind : kKinds)
    for (bool pre : {false, true}) {
      SCOPED_TRACE(testing::Message() << static_cast<int>(kind) << (pre ? " pre" : ""));
      GnnOptions options = tiny(kind);
      options.pre_linear = options.residual = pre;
      options.norm = pre ? Norm::batch : Norm::layer;
      auto model = options.make({kInputs, kClasses, 0}, 11);
      expect_model_matches(*model, whole, [&](const ReferenceModel& m, const Table& features) {
        return reference(m, options, features, rows_of(graph));
      });
    }
}

// Batches that draw every neighbour compute what the whole graph gives.
TEST(Gnn, BatchesOfAllNeighboursGiveTheLogitsOfTheWholeGraph) {
  AttentionGraph graph = attention_graph(200, 500, 0);
  Matrix features = random_matrix(200, kInputs, 4);
  Sampler sampler = Sampler::with_self_loops(graph, 5);
  BatchBuilder builder(nullptr, {}, &sampler, {100, 100}, false);
  std::vector<NodeId> targets = {7, 3, 150, 42};
  Batch batch = builder.build(targets, 0);
  Matrix rows(batch.nodes.size(), kInputs, MemoryTag::other);
  for (size_t i = 0; i < batch.nodes.size(); ++i)
    copy(rows.view().block(i, 1), features.view().block(batch.nodes[i], 1));
  for (Convolution kind : kKinds) {
    auto model = tiny(kind).make({kInputs, kClasses, 0}, 11);
    Tape tape(false);
    Var all = model->forward(tape, {features.view(), nullptr},
                             whole_neighbourhood({nullptr, nullptr, &graph}), {});
    Var some = model->forward(tape, {rows.view(), nullptr},
                              sampled_neighbourhood({}, batch.local, &graph, batch.nodes), {});
    for (size_t i = 0; i < targets.size(); ++i)
      for (size_t c = 0; c < kClasses; ++c)
        EXPECT_NEAR(some.value()(i, c), all.value()(targets[i], c), 1e-5);
  }
}

// In evaluation of large graphs: the parts of a layer, one after the other, are the layer.
TEST(Gnn, PartsOfTheRowsGiveTheLogitsOfAllOfThem) {
  AttentionGraph graph = attention_graph(203, 500, 0);
  Matrix features = random_matrix(203, kInputs, 4);
  for (Convolution kind : kKinds)
    for (bool pre : {false, true}) {
      GnnOptions options = tiny(kind);
      options.layers = 3;
      options.pre_linear = options.residual = pre;
      auto model = options.make({kInputs, kClasses, 0}, 11);
      disturb(model->parameters());
      auto logits = [&](size_t parts) {
        Neighbourhood whole = whole_neighbourhood({nullptr, nullptr, &graph});
        whole.row_parts = parts;
        Tape tape(false);
        Var out = model->forward(tape, {features.view(), nullptr}, whole, {});
        return std::vector<float>(out.value().data, out.value().data + out.value().size());
      };
      std::vector<float> at_once = logits(1);
      for (size_t parts : {2, 8, 500}) {
        std::vector<float> in_parts = logits(parts);
        ASSERT_EQ(in_parts.size(), at_once.size());
        for (size_t i = 0; i < at_once.size(); ++i)
          ASSERT_NEAR(in_parts[i], at_once[i], 1e-5) << "in " << parts << " parts, number " << i;
      }
    }
}

// Embeddings are the last stage that an evaluation shows.
TEST(Gnn, EvaluationInPartsShowsWholeStages) {
  AttentionGraph graph = attention_graph(203, 500, 0);
  Matrix features = random_matrix(203, kInputs, 4);
  auto model = tiny(Convolution::sage).make({kInputs, kClasses, 0}, 11);
  Neighbourhood whole = whole_neighbourhood({nullptr, nullptr, &graph});
  whole.row_parts = 8;
  Pass pass;
  std::vector<std::string> stages;
  pass.inspect = [&](std::string_view stage, ConstMatrixView value) {
    stages.emplace_back(stage);
    EXPECT_EQ(value.rows, 203U) << stage;
  };
  Tape tape(false);
  model->forward(tape, {features.view(), nullptr}, whole, pass);
  EXPECT_EQ(stages, (std::vector<std::string>{"layer 1", "layer 2", "the output layer"}));
}

TEST(Gnn, WhereNeighboursAreDrawnThereIsALayerForEachFanOut) {
  auto options = GnnOptions::sampled(Convolution::gcn);
  SettingList settings;
  options->list(settings);
  EXPECT_EQ(settings.find("layers"), nullptr);
  settings.find("fan_out")->set("[4, 3]", "fan_out");
  Needs needs = options->needs();
  EXPECT_EQ(needs.batching, Batching::sampled);
  EXPECT_EQ(needs.layers, 2U);
  EXPECT_EQ(needs.sampling.local, (std::vector<size_t>{4, 3}));
}

TEST(Mlp, MatchesDoublePrecision) {
  MlpOptions options;
  options.layers = 3;
  options.width = 6;
  options.dropout = 0;
  auto model = options.make({kInputs, kClasses, 0}, 11);
  expect_model_matches(*model, {}, [](const ReferenceModel& m, const Table& features) {
    Table x = features;
    for (const char* name : {"layers.0.", "layers.1."})
      x = relu(m.norm(m.linear(x, std::string(name) + "linear"), std::string(name) + "norm",
                      Norm::layer));
    return m.linear(x, "head");
  });
}

}  // namespace
}  // namespace spex
