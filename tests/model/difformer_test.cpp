#include "model/difformer.h"

#include "model/linear_attention_reference.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

Table layer(const ReferenceModel& m, const Table& x, const std::string& name,
            const ReferenceRows& rows) {
  Table v = m.linear(x, name + "v");
  ReferenceLinearAttention attention{.value_sum = 1.0, .constant = static_cast<double>(x.rows)};
  Table a = attention(normalized(m.linear(x, name + "q")), normalized(m.linear(x, name + "k")), v);
  Table y = sum(a, normalized_sum(v, rows));
  return m.norm(combination(y, 0.5, x, 0.5), name + "norm", Norm::layer);
}

TEST(Difformer, MatchesDoublePrecision) {
  AttentionGraph graph = attention_graph(kNodes, 40, 0);
  DifformerOptions options;
  options.width = 6;
  options.dropout = 0;
  auto model = options.make({kInputs, kClasses, 0}, 11);
  expect_model_matches(
      *model, whole_neighbourhood({nullptr, nullptr, &graph}),
      [&](const ReferenceModel& m, const Table& features) {
        Table x = relu(m.norm(m.linear(features, "encoder"), "encoder_norm", Norm::layer));
        for (const char* name : {"layers.0.", "layers.1."}) x = layer(m, x, name, rows_of(graph));
        return m.linear(x, "head");
      });
}

}  // namespace
}  // namespace spex
