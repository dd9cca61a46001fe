#include "model/nodeformer.h"

#include <spex/ops/random_features.h>

#include "model/linear_attention_reference.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

using Site = NodeformerOptions::Site;

Table to_table(const Matrix& matrix) {
  Table table(matrix.rows(), matrix.cols());
  std::copy(matrix.span().begin(), matrix.span().end(), table.values.begin());
  return table;
}

// The whole program with the random numbers of one pass.
struct Reference {
  NodeformerOptions o;
  Pass pass;
  ReferenceRows rows;

  // Per head; the largest exponent is that of a query's row, or of all keys.
  Table features(const Table& u, const Table& directions, bool keys) const {
    size_t d = o.width, count = o.features;
    double scale = std::pow(static_cast<double>(d), -0.25) / std::sqrt(o.softmax_temperature);
    Table out(u.rows, o.heads * count);
    for (size_t h = 0; h < o.heads; ++h) {
      std::vector<double> largest(u.rows, -1e300), half(u.rows, 0.0);
      for (size_t i = 0; i < u.rows; ++i) {
        for (size_t e = 0; e < d; ++e) half[i] += std::pow(scale * u(i, h * d + e), 2) / 2;
        for (size_t f = 0; f < count; ++f) {
          double& to = out(i, h * count + f);
          for (size_t e = 0; e < d; ++e) to += scale * u(i, h * d + e) * directions(f, e);
          largest[i] = std::max(largest[i], to);
        }
      }
      double all = *std::max_element(largest.begin(), largest.end());
      for (size_t i = 0; i < u.rows; ++i)
        for (size_t f = 0; f < count; ++f) {
          double& to = out(i, h * count + f);
          to = (std::exp(to - half[i] - (keys ? all : largest[i])) + 1e-6) /
               std::sqrt(static_cast<double>(count));
        }
    }
    return out;
  }

  // The mean over edges and heads of log(attention) / degree.
  double mean_log(const Table& q, const Table& k) const {
    ReferenceLinearAttention attention{o.heads};
    double sum = 0, edges = 0;
    for (size_t i = 0; i < rows.size(); ++i)
      for (size_t h = 0; h < o.heads; ++h) {
        double total = 0;
        for (size_t j = 0; j < rows.size(); ++j) total += attention.product(q, i, k, j, h);
        for (const ReferenceEdge& edge : rows[i])
          sum += std::log(attention.product(q, i, k, edge.neighbour, h) / total) /
                 static_cast<double>(rows[i].size());
        edges += static_cast<double>(rows[i].size());
      }
    return sum / edges;
  }

  Table layer(const ReferenceModel& m, const Table& x, size_t i, double* penalty) const {
    std::string name = "layers." + std::to_string(i) + ".";
    Table directions =
        to_table(orthogonal_projection(o.features, o.width, o.random(pass, i, Site::projecting)));
    Table q = features(m.linear(x, name + "q"), directions, false);
    Table k = features(m.linear(x, name + "k"), directions, true);
    Table v = m.linear(x, name + "v"), y(v.rows, v.cols);
    *penalty -= o.edge_loss * mean_log(q, k) / static_cast<double>(o.layers);
    auto temperature = static_cast<float>(o.softmax_temperature);
    for (size_t draw = 0; draw < o.draws; ++draw) {
      Table weights = to_table(
          gumbel_weights(x.rows, o.heads, temperature, o.random(pass, i, Site::first_draw + draw)));
      y = combination(y, 1.0, ReferenceLinearAttention{o.heads}(q, k, v, weights),
                      1.0 / static_cast<double>(o.draws));
    }
    if (o.draws == 0) y = ReferenceLinearAttention{o.heads}(q, k, v);
    for (size_t r = 0; r < o.order; ++r) {
      v = normalized_sum(v, rows);
      Table share = sigmoid(m.p.at(name + "edges." + std::to_string(r))), factors(1, v.cols);
      for (size_t c = 0; c < v.cols; ++c) factors(0, c) = share(0, c / o.width);
      y = sum(y, times(v, factors));
    }
    return m.norm(sum(m.linear(y, name + "out"), x), name + "norm", Norm::layer);
  }

  Table logits(const ReferenceModel& m, const Table& in, double* penalty) const {
    Table x = m.norm(m.linear(in, "encoder"), "encoder_norm", Norm::layer);
    for (double& value : x.values) value = value > 0 ? value : std::expm1(value);
    for (size_t i = 0; i < o.layers; ++i) x = layer(m, x, i, penalty);
    return m.linear(x, "head");
  }
};

void expect_matches(size_t draws) {
  AttentionGraph graph = attention_graph(kNodes, 40, 0);
  Reference reference;
  NodeformerOptions& options = reference.o;
  options.width = 4;
  options.heads = 2;
  options.features = 7;
  options.draws = draws;
  options.edge_loss = 0.2;
  options.softmax_temperature = 0.6;
  reference.rows = rows_of(graph);
  ModelCheck check;
  check.pass.seed = 8;
  check.pass.step = 3;
  reference.pass = check.pass;
  check.penalty = [&](const ReferenceModel& m, const Table& features) {
    double penalty = 0;
    reference.logits(m, features, &penalty);
    return penalty;
  };
  auto model = options.make({kInputs, kClasses, 0}, 11);
  expect_model_matches(
      *model, whole_neighbourhood({nullptr, nullptr, &graph}),
      [&](const ReferenceModel& m, const Table& features) {
        double penalty = 0;
        return reference.logits(m, features, &penalty);
      },
      check);
}

TEST(Nodeformer, MatchesDoublePrecisionWithItsPenalty) {
  expect_matches(3);
  expect_matches(0);
}

TEST(Nodeformer, EveryStepDrawsAnewAndEvaluationAlwaysTheSame) {
  AttentionGraph graph = attention_graph(kNodes, 40, 0);
  Example example;
  auto model = NodeformerOptions().make({kInputs, kClasses, 0}, 11);
  auto logit = [&](bool training, uint32_t step) {
    Tape tape(false);
    Pass pass;
    pass.training = training;
    pass.step = step;
    return model
        ->forward(tape, {example.features.view(), nullptr},
                  whole_neighbourhood({nullptr, nullptr, &graph}), pass)
        .value()(0, 0);
  };
  EXPECT_EQ(logit(true, 1), logit(true, 1));
  EXPECT_NE(logit(true, 1), logit(true, 2));
  EXPECT_EQ(logit(false, 0), logit(false, 0));
}

}  // namespace
}  // namespace spex
