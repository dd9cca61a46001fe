#include "model/gps.h"

#include <spex/model/registry.h>

#include "model/convolution_reference.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

constexpr size_t kHeads = 2;

// Softmax over the rows' entries; Exphormer's has a modulation by type, a clamp and 1e-6 below.
Table attention(const ReferenceModel& m, const Table& x, const std::string& name,
                const ReferenceRows& rows, bool sparse) {
  Table q = m.linear(x, name + "q"), k = m.linear(x, name + "k"), v = m.linear(x, name + "v");
  Table e;
  if (sparse) e = m.linear(m.p.at("edge_types"), name + "modulation");
  Table out(x.rows, x.cols);
  size_t width = x.cols / kHeads;
  for (size_t i = 0; i < rows.size(); ++i)
    for (size_t h = 0; h < kHeads; ++h) {
      double total = sparse ? 1e-6 : 0.0;
      for (const ReferenceEdge& edge : rows[i]) {
        double score = 0;
        for (size_t d = h * width; d < (h + 1) * width; ++d)
          score += q(i, d) * k(edge.neighbour, d) * (sparse ? e(edge.type, d) : 1.0);
        score /= std::sqrt(static_cast<double>(width));
        double weight = std::exp(sparse ? std::clamp(score, -5.0, 5.0) : score);
        total += weight;
        for (size_t d = h * width; d < (h + 1) * width; ++d)
          out(i, d) += weight * v(edge.neighbour, d);
      }
      for (size_t d = h * width; d < (h + 1) * width; ++d) out(i, d) /= total;
    }
  return sparse ? out : m.linear(out, name + "out");
}

ReferenceRows all_pairs() {
  ReferenceRows rows(kNodes);
  for (auto& row : rows)
    for (size_t j = 0; j < kNodes; ++j) row.push_back({j, 0});
  return rows;
}

struct Graph {
  AttentionGraph attention = attention_graph(kNodes, 40, 4);
  AttentionGraph transposed = transpose(attention);
  AttentionGraph local = attention_graph(kNodes, 40, 0);
};

Table reference(const ReferenceModel& m, const GpsOptions& o, const Table& features,
                const Graph& graph) {
  bool sparse = o.attention == GpsAttention::sparse;
  ReferenceRows seen = sparse ? rows_of(graph.attention) : all_pairs();
  Table x = m.linear(features, "encoder");
  for (size_t i = 0; i < o.layers; ++i) {
    std::string name = "layers." + std::to_string(i) + ".";
    Table l = convolution(m, o.convolution, kHeads, x, name + "conv", rows_of(graph.local));
    Table a = attention(m, x, name, seen, sparse);
    Table y = sum(m.norm(sum(x, l), name + "conv_norm", Norm::batch),
                  m.norm(sum(x, a), name + "attention_norm", Norm::batch));
    Table out = m.linear(relu(m.linear(y, name + "up")), name + "down");
    x = m.norm(sum(y, out), name + "norm", Norm::batch);
  }
  return m.linear(x, "head");
}

void expect_matches(GpsOptions options) {
  Graph graph;
  options.layers = 2;
  options.width = 6;
  options.heads = kHeads;
  options.dropout = 0;
  auto model = options.make({kInputs, kClasses, 3}, 11);
  bool sparse = options.attention == GpsAttention::sparse;
  Graphs graphs{nullptr, nullptr, &graph.local};
  if (sparse) graphs = {&graph.attention, &graph.transposed, &graph.local};
  expect_model_matches(*model, whole_neighbourhood(graphs),
                       [&](const ReferenceModel& m, const Table& features) {
                         return reference(m, options, features, graph);
                       });
}

TEST(Gps, MatchesDoublePrecision) {
  expect_matches(GpsOptions());
}

TEST(Gps, ExphormerWithAConvolutionMatchesDoublePrecision) {
  for (const char* name : {"exphormer-gcn", "exphormer-gat"}) {
    SCOPED_TRACE(name);
    auto options = find_model(name).options();
    expect_matches(dynamic_cast<GpsOptions&>(*options));
  }
}

// A last layer of chosen nodes computes what the whole graph gives them.
TEST(Gps, ChosenNodesGetTheLogitsOfTheWholeGraph) {
  Graph graph;
  Example example;
  std::vector<NodeId> nodes = {2, 7, 11, 20};
  for (const char* name : {"gps", "exphormer-gat"}) {
    bool sparse = std::string(name) != "gps";
    Graphs graphs{nullptr, nullptr, &graph.local};
    if (sparse) graphs = {&graph.attention, &graph.transposed, &graph.local};
    auto options = find_model(name).options();
    auto model = options->make({kInputs, kClasses, 3}, 11);
    ChosenGraphs chosen = choose_rows(graphs, nodes);
    Tape tape(false);
    ModelInput input{example.features.view(), nullptr};
    Var all = model->forward(tape, input, whole_neighbourhood(graphs), {});
    Var some = model->forward(tape, input,
                              whole_neighbourhood(graphs, options->needs().layers, chosen), {});
    ASSERT_EQ(some.rows(), nodes.size());
    for (size_t i = 0; i < nodes.size(); ++i)
      for (size_t c = 0; c < kClasses; ++c)
        EXPECT_NEAR(some.value()(i, c), all.value()(nodes[i], c), 1e-5) << name;
  }
}

}  // namespace
}  // namespace spex
