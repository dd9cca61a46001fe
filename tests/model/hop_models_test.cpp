// The models that see the graph only through features averaged over hops: SGC, SIGN, NAGphormer.
// The example's five features serve as five hops of one feature.
#include "model/model_check.h"
#include "model/nagphormer.h"
#include "model/sgc.h"
#include "model/sign.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

constexpr size_t kHops = kInputs - 1;

TEST(Sgc, IsALinearMapOfTheFarthestHop) {
  SgcOptions options;
  options.hops = kHops;
  auto model = options.make({kInputs, kClasses, 0}, 11);
  expect_model_matches(*model, {}, [](const ReferenceModel& m, const Table& features) {
    Table farthest(features.rows, 1);
    for (size_t r = 0; r < features.rows; ++r) farthest(r, 0) = features(r, kHops);
    return m.linear(farthest, "head");
  });
}

TEST(Sign, IsAPerceptronOfAllHops) {
  SignOptions options;
  options.hops = kHops;
  options.perceptron.layers = 2;
  options.perceptron.width = 6;
  options.perceptron.dropout = 0;
  auto model = options.make({kInputs, kClasses, 0}, 11);
  expect_model_matches(*model, {}, [](const ReferenceModel& m, const Table& features) {
    Table x = m.linear(features, "layers.0.linear");
    return m.linear(relu(m.norm(x, "layers.0.norm", Norm::layer)), "head");
  });
}

// Rows in groups of `tokens`, each head by itself.
Table token_attention(const Table& q, const Table& k, const Table& v, size_t tokens, size_t heads) {
  size_t width = q.cols / heads;
  Table y(q.rows, q.cols);
  for (size_t i = 0; i < q.rows; ++i)
    for (size_t h = 0; h < heads; ++h) {
      size_t first = i / tokens * tokens;
      std::vector<double> weights(tokens, 0.0);
      double total = 0;
      for (size_t j = 0; j < tokens; ++j) {
        for (size_t c = h * width; c < (h + 1) * width; ++c)
          weights[j] += q(i, c) * k(first + j, c);
        weights[j] = std::exp(weights[j] / std::sqrt(static_cast<double>(width)));
        total += weights[j];
      }
      for (size_t j = 0; j < tokens; ++j)
        for (size_t c = h * width; c < (h + 1) * width; ++c)
          y(i, c) += weights[j] / total * v(first + j, c);
    }
  return y;
}

Table gelu(Table x) {
  for (double& value : x.values) value *= 0.5 * (1.0 + std::erf(value / std::sqrt(2.0)));
  return x;
}

// NAGphormer's own form: the softmax over hops of u . [t_0, t_k].
Table readout(const ReferenceModel& m, const Table& t, size_t tokens) {
  const Table& u = m.p.at("hop_scores");
  Table o(t.rows / tokens, t.cols);
  for (size_t i = 0; i < o.rows; ++i) {
    std::vector<double> weights(tokens, 0.0);
    double total = 0;
    for (size_t k = 1; k < tokens; ++k) {
      for (size_t c = 0; c < t.cols; ++c) weights[k] += u(0, c) * t(i * tokens + k, c);
      total += weights[k] = std::exp(weights[k]);
    }
    for (size_t c = 0; c < t.cols; ++c) {
      o(i, c) = t(i * tokens, c);
      for (size_t k = 1; k < tokens; ++k) o(i, c) += weights[k] / total * t(i * tokens + k, c);
    }
  }
  return o;
}

Table nagphormer(const ReferenceModel& m, const NagphormerOptions& o, const Table& features) {
  size_t tokens = o.hops + 1;
  Table t(features.rows * tokens, features.cols / tokens);
  t.values = features.values;
  t = m.linear(t, "encoder");
  for (size_t l = 0; l < o.layers; ++l) {
    std::string name = "layers." + std::to_string(l) + ".";
    Table y = m.norm(t, name + "attention_norm", Norm::layer);
    y = token_attention(m.linear(y, name + "query"), m.linear(y, name + "key"),
                        m.linear(y, name + "value"), tokens, o.heads);
    t = sum(t, m.linear(y, name + "out"));
    y = m.norm(t, name + "feed_norm", Norm::layer);
    t = sum(t, m.linear(gelu(m.linear(y, name + "up")), name + "down"));
  }
  t = m.norm(t, "norm", Norm::layer);
  return m.linear(relu(m.linear(readout(m, t, tokens), "hidden")), "head");
}

TEST(Nagphormer, MatchesDoublePrecision) {
  NagphormerOptions options;
  options.hops = kHops;
  options.layers = 2;
  options.width = 8;
  options.heads = 2;
  options.dropout = 0;
  auto model = options.make({kInputs, kClasses, 0}, 11);
  expect_model_matches(*model, {}, [&](const ReferenceModel& m, const Table& features) {
    return nagphormer(m, options, features);
  });
}

}  // namespace
}  // namespace spex
