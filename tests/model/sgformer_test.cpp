#include "model/sgformer.h"

#include "model/convolution_reference.h"
#include "model/linear_attention_reference.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

Table attention_branch(const ReferenceModel& m, const Table& features) {
  Table z =
      relu(m.norm(m.linear(features, "attention.encoder"), "attention.encoder_norm", Norm::layer));
  double count = kNodes;
  ReferenceLinearAttention attention{.own_value = count, .constant = count};
  Table a = attention(normalized(m.linear(z, "attention.q")),
                      normalized(m.linear(z, "attention.k")), m.linear(z, "attention.v"));
  return m.norm(combination(a, 0.5, z, 0.5), "attention.norm", Norm::layer);
}

Table graph_branch(const ReferenceModel& m, const SgformerOptions& o, const Table& features,
                   const ReferenceRows& rows) {
  Table start =
      relu(m.norm(m.linear(features, "graph.encoder"), "graph.encoder_norm", Norm::batch));
  Table g = start;
  for (size_t i = 0; i < o.layers; ++i) {
    std::string name = "graph." + std::to_string(i) + ".";
    Table y = m.linear(normalized_sum(g, rows), name + "conv");
    if (o.join_start) y = sum(y, m.linear(start, name + "start"));
    g = sum(relu(m.norm(y, name + "norm", Norm::batch)), start);
  }
  return g;
}

TEST(Sgformer, MatchesDoublePrecision) {
  AttentionGraph graph = attention_graph(kNodes, 40, 0);
  for (bool join : {false, true}) {
    SCOPED_TRACE(join ? "joined" : "plain");
    SgformerOptions options;
    options.width = 6;
    options.dropout = 0;
    options.graph_weight = 0.3;
    options.join_start = join;
    auto model = options.make({kInputs, kClasses, 0}, 11);
    expect_model_matches(*model, whole_neighbourhood({nullptr, nullptr, &graph}),
                         [&](const ReferenceModel& m, const Table& features) {
                           Table g = graph_branch(m, options, features, rows_of(graph));
                           Table z = attention_branch(m, features);
                           return m.linear(combination(g, 0.3, z, 0.7), "head");
                         });
  }
}

}  // namespace
}  // namespace spex
