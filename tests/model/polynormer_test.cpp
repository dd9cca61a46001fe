#include "model/polynormer.h"

#include <spex/core/error.h>

#include "model/convolution_reference.h"
#include "model/linear_attention_reference.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

PolynormerOptions tiny() {
  PolynormerOptions options;
  options.local_layers = 2;
  options.global_layers = 2;
  options.width = 6;
  options.heads = 2;
  options.dropout = 0;
  options.local_epochs = 10;
  return options;
}

Table local_layer(const ReferenceModel& m, const Table& x, const std::string& name,
                  const ReferenceRows& rows, size_t heads) {
  Table y = relu(sum(convolution(m, Convolution::gat, heads, x, name + "conv", rows),
                     m.linear(x, name + "residual")));
  Table gated = m.norm(times(relu(m.linear(x, name + "gate")), y), name + "norm", Norm::layer);
  const Table& beta = m.p.at(name + "beta");
  return sum(combination(gated, 1.0, times(gated, beta), -1.0), times(y, beta));
}

Table global_layer(const ReferenceModel& m, const Table& z, const std::string& name, size_t heads) {
  Table k = sigmoid(m.linear(z, name + "k"));
  Table a = ReferenceLinearAttention{heads}(k, k, m.linear(z, name + "v"));
  Table gate = m.linear(z, name + "gate");
  for (size_t i = 0; i < gate.values.size(); ++i)
    gate.values[i] += m.p.at(name + "beta").values[i % gate.cols];
  return relu(m.linear(times(m.norm(a, name + "norm", Norm::layer), gate), name + "out"));
}

Table reference(const ReferenceModel& m, const PolynormerOptions& o, const Table& features,
                const ReferenceRows& rows, bool global) {
  Table x = m.linear(features, "encoder"), total(x.rows, x.cols);
  for (size_t i = 0; i < o.local_layers; ++i) {
    x = local_layer(m, x, "local." + std::to_string(i) + ".", rows, o.heads);
    total = sum(total, x);
  }
  if (!global) return m.linear(total, "local_head");
  Table z = m.norm(total, "norm", Norm::layer);
  for (size_t i = 0; i < o.global_layers; ++i)
    z = global_layer(m, z, "global." + std::to_string(i) + ".", o.heads);
  return m.linear(z, "head");
}

void expect_matches(const PolynormerOptions& options, const ModelCheck& check, bool global) {
  AttentionGraph graph = attention_graph(kNodes, 40, 0);
  auto model = options.make({kInputs, kClasses, 0}, 11);
  expect_model_matches(
      *model, whole_neighbourhood({nullptr, nullptr, &graph}),
      [&](const ReferenceModel& m, const Table& features) {
        return reference(m, options, features, rows_of(graph), global);
      },
      check);
}

TEST(Polynormer, LocalPartMatchesDoublePrecision) {
  PolynormerOptions options = tiny();
  options.global_layers = 0;
  expect_matches(options, {}, false);
}

TEST(Polynormer, GlobalPartMatchesDoublePrecision) {
  ModelCheck check;
  check.pass.epoch = tiny().local_epochs;
  check.idle = "local_head";
  expect_matches(tiny(), check, true);
}

TEST(Polynormer, GlobalLayersTakePartAfterTheLocalEpochsAndTrainingRestartsThere) {
  PolynormerOptions options = tiny();
  EXPECT_EQ(options.needs().restart_epoch, options.local_epochs);
  AttentionGraph graph = attention_graph(kNodes, 40, 0);
  Example example;
  auto model = options.make({kInputs, kClasses, 0}, 11);
  auto logits = [&](size_t epoch) {
    Tape tape(false);
    Pass pass;
    pass.epoch = epoch;
    return clone(model
                     ->forward(tape, {example.features.view(), nullptr},
                               whole_neighbourhood({nullptr, nullptr, &graph}), pass)
                     .value());
  };
  Matrix first = logits(0), last_local = logits(9), global = logits(10);
  EXPECT_EQ(first(3, 1), last_local(3, 1));
  EXPECT_NE(first(3, 1), global(3, 1));
  options.global_layers = 0;
  EXPECT_EQ(options.needs().restart_epoch, 0U) << "nothing comes after the local part";
}

TEST(Polynormer, DropoutOfSparseFeaturesIsRefused) {
  PolynormerOptions options = tiny();
  options.in_dropout = 0.2;
  auto model = options.make({kInputs, kClasses, 0}, 11);
  SparseMatrix sparse;
  Tape tape;
  EXPECT_THROW(model->forward(tape, {{}, &sparse}, {}, {}), Error);
}

}  // namespace
}  // namespace spex
