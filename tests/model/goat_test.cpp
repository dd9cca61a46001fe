#include "model/goat.h"

#include <spex/core/error.h>
#include <spex/core/threads.h>
#include <spex/sample/balls.h>

#include "model/codebook.h"
#include "model/model_check.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

GoatOptions tiny() {
  GoatOptions options;
  options.width = 6;
  options.heads = 2;
  options.fan_out = {2, 2, 1};
  options.dropout = 0;
  return options;
}

// The state of a codebook, which the formula takes as it finds it.
struct Centroids {
  Table at;
  std::vector<double> sizes;

  explicit Centroids(const Model& model, size_t width) {
    for (const auto& [name, values] : model.state()) {
      if (name == "global.sizes") sizes.assign(values.begin(), values.end());
      if (name != "global.centroids") continue;
      at = Table(values.size() / width, width);
      std::copy(values.begin(), values.end(), at.values.begin());
    }
  }
};

// One row of softmax(scores) v, for the columns [first, last).
void add_attention(Table& out, size_t row, std::vector<double> scores,
                   const std::vector<size_t>& keys, const Table& v, size_t first, size_t last,
                   double epsilon) {
  double all = epsilon;
  for (double& score : scores) all += score = std::exp(score);
  for (size_t n = 0; n < keys.size(); ++n)
    for (size_t c = first; c < last; ++c) out(row, c) += scores[n] / all * v(keys[n], c);
}

double head_product(const Table& q, size_t i, const Table& k, size_t j, size_t first, size_t last) {
  double product = 0;
  for (size_t c = first; c < last; ++c) product += q(i, c) * k(j, c);
  return product / std::sqrt(static_cast<double>(last - first));
}

Table local_attention(const ReferenceModel& m, const GoatOptions& o, const Table& x,
                      const ReferenceRows& balls) {
  Table q = m.linear(x, "local.q"), k = m.linear(x, "local.k"), v = m.linear(x, "local.v");
  const Table& bias = m.p.at("local.distance_bias");
  Table out(x.rows, o.width);
  size_t each = o.width / o.heads;
  for (size_t i = 0; i < x.rows; ++i)
    for (size_t h = 0; h < o.heads; ++h) {
      std::vector<double> scores;
      std::vector<size_t> keys;
      for (const ReferenceEdge& edge : balls[i]) {
        keys.push_back(edge.neighbour);
        scores.push_back(head_product(q, i, k, edge.neighbour, h * each, (h + 1) * each) +
                         bias(edge.type, h));
      }
      add_attention(out, i, scores, keys, v, h * each, (h + 1) * each, 1e-6);
    }
  return out;
}

Table global_attention(const ReferenceModel& m, const GoatOptions& o, const Table& x,
                       const Centroids& centroids) {
  Table q = m.linear(x, "global.q");
  Table k = m.linear(centroids.at, "global.k"), v = m.linear(centroids.at, "global.v");
  Table out(x.rows, o.width);
  size_t each = o.width / o.heads;
  for (size_t i = 0; i < x.rows; ++i)
    for (size_t h = 0; h < o.heads; ++h) {
      std::vector<double> scores;
      std::vector<size_t> keys;
      for (size_t c = 0; c < centroids.at.rows; ++c) {
        keys.push_back(c);
        scores.push_back(head_product(q, i, k, c, h * each, (h + 1) * each) +
                         std::log(centroids.sizes[c]));
      }
      add_attention(out, i, scores, keys, v, h * each, (h + 1) * each, 0.0);
    }
  return out;
}

Table reference(const ReferenceModel& m, const GoatOptions& o, const Table& features,
                const ReferenceRows& balls, const Centroids& centroids) {
  Table x = relu(m.linear(features, "encoder"));
  Table near = local_attention(m, o, x, balls), far = global_attention(m, o, x, centroids);
  Table y(x.rows, 2 * o.width);
  for (size_t i = 0; i < x.rows; ++i)
    for (size_t c = 0; c < o.width; ++c) {
      y(i, c) = near(i, c);
      y(i, o.width + c) = far(i, c);
    }
  y = relu(m.norm(m.linear(y, "mix"), "mix_norm", Norm::batch));
  y = relu(m.norm(m.linear(y, "out"), "out_norm", Norm::batch));
  return m.linear(y, "head");
}

struct Around {
  AttentionGraph local = attention_graph(kNodes, 40, 0);
  AttentionGraph balls = draw_balls(local, tiny().fan_out, 1);
  AttentionGraph transposed = transpose(balls);
  Neighbourhood whole = whole_neighbourhood({&balls, &transposed, nullptr});
};

TEST(Goat, MatchesDoublePrecision) {
  Around around;
  auto model = tiny().make({kInputs, kClasses, 4, 40}, 11);
  Pass training;
  training.training = true;
  Example example;
  for (int pass = 0; pass < 2; ++pass) {  // the centroids move away from where they began
    Tape tape(false);
    model->forward(tape, {example.features.view(), nullptr}, around.whole, training);
  }
  Centroids centroids(*model, tiny().width);
  ASSERT_EQ(centroids.at.rows, 5U);
  expect_model_matches(*model, around.whole, [&](const ReferenceModel& m, const Table& features) {
    return reference(m, tiny(), features, rows_of(around.balls), centroids);
  });
}

TEST(Goat, EvaluationLeavesTheCentroidsAlone) {
  Around around;
  auto model = tiny().make({kInputs, kClasses, 4, 40}, 11);
  Example example;
  auto after = [&](bool training) {
    Pass pass;
    pass.training = training;
    Tape tape(false);
    model->forward(tape, {example.features.view(), nullptr}, around.whole, pass);
    return Centroids(*model, tiny().width).at.values;
  };
  auto first = after(true);
  EXPECT_EQ(after(false), first);
  EXPECT_NE(after(true), first);
}

TEST(Goat, HasNoMoreCentroidsThanOneForEightNodes) {
  for (auto [nodes, expected] :
       std::initializer_list<std::pair<size_t, size_t>>{{4, 1}, {800, 100}, {1'000'000, 4096}}) {
    auto model = tiny().make({kInputs, kClasses, 4, nodes}, 1);
    EXPECT_EQ(Centroids(*model, tiny().width).sizes.size(), expected);
  }
  GoatOptions options = tiny();
  options.fan_out = {1, 1, 1, 1};
  EXPECT_THROW(options.check(), Error);
}

struct Nothing : Model {
  Nothing() : Model(Shape{}) {}
  Var forward(Tape&, const ModelInput&, const Neighbourhood&, const Pass&) override { return {}; }
};

// Averages of sums and of counts, whose quotient is a centroid.
struct PlainMeans {
  std::vector<std::vector<double>> sums, centroids;
  std::vector<double> counts;

  void update(const Matrix& x, double decay) {
    for (auto& sum : sums)
      for (double& value : sum) value *= decay;
    for (double& count : counts) count *= decay;
    for (size_t r = 0; r < x.rows(); ++r) {
      size_t nearest = 0;
      for (size_t m = 1; m < centroids.size(); ++m)
        if (distance(x, r, m) < distance(x, r, nearest)) nearest = m;
      counts[nearest] += 1 - decay;
      for (size_t c = 0; c < x.cols(); ++c) sums[nearest][c] += (1 - decay) * x(r, c);
    }
    for (size_t m = 0; m < sums.size(); ++m)
      for (size_t c = 0; c < x.cols(); ++c) centroids[m][c] = sums[m][c] / counts[m];
  }
  double distance(const Matrix& x, size_t r, size_t m) const {
    double squares = 0;
    for (size_t c = 0; c < x.cols(); ++c) squares += std::pow(x(r, c) - centroids[m][c], 2);
    return squares;
  }
};

TEST(Codebook, IsTheQuotientOfTwoAveragesThatForget) {
  constexpr size_t kCount = 12, kWidth = 5, kRows = 150;
  constexpr double kDecay = 0.9;
  Nothing model;
  Codebook book({model, 1}, "book", kCount, kWidth, kDecay);
  EXPECT_EQ(book.log_sizes()[0], -std::numeric_limits<float>::infinity());
  Matrix first = random_matrix(kRows, kWidth, 1);
  book.begin(first);
  PlainMeans plain;
  for (size_t m = 0; m < kCount; ++m) {
    const float* row = first.view().row(m * kRows / kCount);
    plain.centroids.emplace_back(row, row + kWidth);
    plain.counts.push_back(static_cast<double>(kRows) / kCount);
    plain.sums.push_back(plain.centroids.back());
    for (double& value : plain.sums.back()) value *= plain.counts.back();
  }
  for (uint64_t step = 0; step < 6; ++step) {
    Matrix x = random_matrix(step % 2 ? 7 : kRows, kWidth, 2 + step);  // 7: most get no row
    book.begin(x);                                                     // has begun
    book.update(x);
    plain.update(x, kDecay);
    Matrix centroids = book.centroids();
    for (size_t m = 0; m < kCount; ++m) {
      EXPECT_NEAR(book.log_sizes()[m], std::log(plain.counts[m]), 1e-5);
      for (size_t c = 0; c < kWidth; ++c)
        EXPECT_NEAR(centroids(m, c), plain.centroids[m][c], 1e-5) << step << ", " << m;
    }
  }
}

TEST(Codebook, IsTheSameForAnyNumberOfThreads) {
  auto centroids = [](int count) {
    set_threads(count);
    Nothing model;
    Codebook book({model, 1}, "book", 40, 9, 0.99);
    Matrix x = random_matrix(1000, 9, 1);
    book.begin(x);
    for (int step = 0; step < 3; ++step) book.update(x);
    set_threads(0);
    Matrix made = book.centroids();
    return std::vector<float>(made.span().begin(), made.span().end());
  };
  EXPECT_EQ(centroids(1), centroids(3));
}

}  // namespace
}  // namespace spex
