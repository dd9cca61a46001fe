#include <gtest/gtest.h>
#include <spex/train/optimizer.h>

#include <cmath>

#include "gradient_check.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

// One number under Adam in double precision, straight from the paper.
struct Scalar {
  double p, m = 0, v = 0;
  void step(double g, double rate, int t, const AdamOptions& o) {
    if (o.decay == Decay::gradient)
      g += o.weight_decay * p;
    else
      p -= rate * o.weight_decay * p;
    m = o.beta1 * m + (1 - o.beta1) * g;
    v = o.beta2 * v + (1 - o.beta2) * g * g;
    double m_hat = m / (1 - std::pow(o.beta1, t)), v_hat = v / (1 - std::pow(o.beta2, t));
    p -= rate * m_hat / (std::sqrt(v_hat) + o.epsilon);
  }
};

class AdamDecays : public testing::TestWithParam<Decay> {};

TEST_P(AdamDecays, MatchesDoublePrecisionOverTwentySteps) {
  Parameters parameters;
  copy(parameters.add("a", 3, 5).value, random_matrix(3, 5, 1));
  copy(parameters.add("b", 200, 100).value, random_matrix(200, 100, 2));
  AdamOptions options;
  options.weight_decay = 0.1;
  options.decay = GetParam();
  Adam optimizer(parameters, options);
  std::vector<Scalar> expected;
  for (Parameter& each : parameters)
    for (float value : each.value.span()) expected.push_back({value});
  for (int t = 1; t <= 20; ++t) {
    double rate = 0.01 * t;
    size_t i = 0;
    for (Parameter& each : parameters) {
      copy(each.gradient, random_matrix(each.value.rows(), each.value.cols(), 10 * t, 1.0 / t));
      for (float g : each.gradient.span()) expected[i++].step(g, rate, t, options);
    }
    optimizer.step(rate);
  }
  size_t i = 0;
  for (Parameter& each : parameters)
    for (float value : each.value.span()) ASSERT_NEAR(value, expected[i++].p, 2e-5) << i;
  EXPECT_EQ(optimizer.steps(), 20U);
  EXPECT_NEAR(optimizer.first_moment(0)(1, 2), expected[7].m, 1e-6);
  EXPECT_NEAR(optimizer.second_moment(0)(1, 2), expected[7].v, 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Both, AdamDecays, testing::Values(Decay::decoupled, Decay::gradient));

TEST(Adam, AZeroGradientMeansDecayAlone) {
  Parameters parameters;
  Parameter& p = parameters.add("p", 1, 1);
  p.value(0, 0) = 2.0F;
  Adam optimizer(parameters, {.weight_decay = 0.5});
  optimizer.step(0.1);
  EXPECT_FLOAT_EQ(p.value(0, 0), 2.0F * (1 - 0.05F));
}

TEST(Adam, SavedStateContinuesWithTheSameBytes) {
  auto run = [](int pause) {
    Parameters parameters;
    copy(parameters.add("p", 4, 4).value, random_matrix(4, 4, 1));
    auto optimizer = std::make_unique<Adam>(parameters, AdamOptions{});
    for (int t = 0; t < 6; ++t) {
      if (t == pause) {
        auto resumed = std::make_unique<Adam>(parameters, AdamOptions{});
        copy(resumed->first_moment(0), optimizer->first_moment(0));
        copy(resumed->second_moment(0), optimizer->second_moment(0));
        resumed->steps() = optimizer->steps();
        optimizer = std::move(resumed);
      }
      copy(parameters.at("p").gradient, random_matrix(4, 4, 7 + t));
      optimizer->step(0.01);
    }
    auto values = parameters.at("p").value.span();
    return std::vector<float>(values.begin(), values.end());
  };
  EXPECT_EQ(run(-1), run(3));
}

TEST(ClipGradients, ScalesToTheGivenNormAndReturnsTheOldOne) {
  Parameters parameters;
  parameters.add("a", 1, 1).gradient(0, 0) = 3.0F;
  parameters.add("b", 1, 1).gradient(0, 0) = -4.0F;
  EXPECT_NEAR(clip_gradients(parameters, 10.0), 5.0, 1e-12);
  EXPECT_EQ(parameters.at("a").gradient(0, 0), 3.0F);
  EXPECT_NEAR(clip_gradients(parameters, 1.0), 5.0, 1e-12);
  EXPECT_NEAR(parameters.at("a").gradient(0, 0), 0.6, 1e-6);
  EXPECT_NEAR(parameters.at("b").gradient(0, 0), -0.8, 1e-6);
}

}  // namespace
}  // namespace spex
