#include <gtest/gtest.h>
#include <spex/core/error.h>
#include <spex/core/random.h>
#include <spex/study/statistics.h>

#include <algorithm>
#include <cmath>

namespace spex {
namespace {

using Points = std::vector<std::vector<float>>;

Points random_points(size_t count, size_t dimensions, uint64_t seed, double shift = 0) {
  Random random(seed, Purpose::test);
  Points points(count, std::vector<float>(dimensions));
  for (size_t i = 0; i < count; ++i)
    for (size_t d = 0; d < dimensions; ++d)
      points[i][d] = static_cast<float>(random.uniform(i * dimensions + d) + shift);
  return points;
}

Cloud cloud_of(const std::vector<Points>& groups) {
  std::vector<size_t> sizes;
  for (const Points& group : groups) sizes.push_back(group.size());
  Cloud cloud(sizes);
  cloud.start(groups[0][0].size());
  for (size_t g = 0; g < groups.size(); ++g)
    for (size_t i = 0; i < groups[g].size(); ++i) cloud.set(g, i, groups[g][i]);
  cloud.measure();
  return cloud;
}

// The definitions once more, in double precision and without a thought for speed.
double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t d = 0; d < a.size(); ++d) sum += std::pow(static_cast<double>(a[d]) - b[d], 2);
  return std::sqrt(sum);
}

double plain_energy(const Points& x, const Points& y) {
  auto n = static_cast<double>(x.size()), m = static_cast<double>(y.size());
  double between = 0, within_x = 0, within_y = 0;
  for (const auto& a : x)
    for (const auto& b : y) between += distance(a, b);
  for (size_t i = 0; i < x.size(); ++i)
    for (size_t j = 0; j < x.size(); ++j)
      if (i != j) within_x += distance(x[i], x[j]);
  for (size_t i = 0; i < y.size(); ++i)
    for (size_t j = 0; j < y.size(); ++j)
      if (i != j) within_y += distance(y[i], y[j]);
  return 2 * between / (n * m) - within_x / (n * (n - 1)) - within_y / (m * (m - 1));
}

double plain_radius(const Points& own, size_t i, size_t k) {
  std::vector<double> others;
  for (size_t j = 0; j < own.size(); ++j)
    if (j != i) others.push_back(distance(own[i], own[j]));
  std::sort(others.begin(), others.end());
  return others[k - 1];
}

Closeness plain_closeness(const Points& real, const Points& other, size_t k) {
  Closeness c;
  for (const auto& y : other) {
    size_t hits = 0;
    for (size_t i = 0; i < real.size(); ++i)
      hits += distance(real[i], y) < plain_radius(real, i, k);
    c.precision += (hits > 0) / static_cast<double>(other.size());
    c.density += static_cast<double>(hits) / static_cast<double>(k * other.size());
  }
  for (size_t i = 0; i < real.size(); ++i) {
    bool inside = false;
    double nearest = 1e30;
    for (size_t j = 0; j < other.size(); ++j) {
      inside |= distance(real[i], other[j]) < plain_radius(other, j, k);
      nearest = std::min(nearest, distance(real[i], other[j]));
    }
    c.recall += inside / static_cast<double>(real.size());
    c.coverage += (nearest < plain_radius(real, i, k)) / static_cast<double>(real.size());
  }
  return c;
}

TEST(Cloud, DistancesMatchDoublePrecision) {
  for (size_t dimensions : {1, 2, 7, 64, 301}) {
    std::vector<Points> groups = {random_points(5, dimensions, 1), random_points(20, dimensions, 2),
                                  random_points(1, dimensions, 3)};
    Cloud cloud = cloud_of(groups);
    for (size_t a = 0; a < groups.size(); ++a)
      for (size_t b = 0; b < groups.size(); ++b)
        for (size_t i = 0; i < groups[a].size(); ++i)
          for (size_t j = 0; j < groups[b].size(); ++j) {
            double exact = distance(groups[a][i], groups[b][j]);
            EXPECT_NEAR(cloud.distance(a, i, b, j), exact, 1e-6 * (1 + exact))
                << dimensions << " dimensions";
          }
  }
}

TEST(Energy, MatchesDoublePrecision) {
  for (size_t dimensions : {1, 6, 40}) {
    std::vector<Points> groups = {random_points(20, dimensions, 1),
                                  random_points(13, dimensions, 2, 0.3)};
    EXPECT_NEAR(energy_distance(cloud_of(groups), 0, 1), plain_energy(groups[0], groups[1]), 1e-6);
  }
}

TEST(Energy, OfTwoPointsIsTwiceTheirDistance) {
  std::vector<Points> groups = {Points(4, {0, 0}), Points(7, {3, 4})};
  EXPECT_FLOAT_EQ(energy_distance(cloud_of(groups), 0, 1), 10.0);
}

TEST(Energy, OfEqualSamplesIsNearZero) {
  Points same = random_points(400, 3, 5), drawn_alike = random_points(400, 3, 6);
  double spread = energy_distance(cloud_of({same, random_points(400, 3, 6, 1.0)}), 0, 1);
  EXPECT_LT(std::abs(energy_distance(cloud_of({same, drawn_alike}), 0, 1)), 0.01 * spread);
}

TEST(Energy, HasNoBias) {  // the mean over many pairs of small samples of one law
  double sum = 0;
  constexpr size_t kPairs = 400;
  for (size_t i = 0; i < kPairs; ++i)
    sum += energy_distance(cloud_of({random_points(4, 2, 2 * i), random_points(4, 2, 2 * i + 1)}),
                           0, 1);
  EXPECT_NEAR(sum / kPairs, 0.0, 0.02);
}

TEST(Closeness, MatchesTheDefinition) {
  for (size_t k : {1, 5}) {
    Points real = random_points(20, 3, 1), other = random_points(17, 3, 2, 0.2);
    Closeness c = closeness(cloud_of({real, other}), 0, 1, k);
    Closeness plain = plain_closeness(real, other, k);
    EXPECT_NEAR(c.precision, plain.precision, 1e-12);
    EXPECT_NEAR(c.recall, plain.recall, 1e-12);
    EXPECT_NEAR(c.density, plain.density, 1e-12);
    EXPECT_NEAR(c.coverage, plain.coverage, 1e-12);
    EXPECT_GT(c.precision, 0.0);
    EXPECT_LT(c.precision, 1.0);
  }
}

TEST(Closeness, OfDisjointSamplesIsZero) {
  Closeness c =
      closeness(cloud_of({random_points(10, 2, 1), random_points(10, 2, 2, 100.0)}), 0, 1, 5);
  EXPECT_EQ(c.precision, 0.0);
  EXPECT_EQ(c.recall, 0.0);
  EXPECT_EQ(c.density, 0.0);
  EXPECT_EQ(c.coverage, 0.0);
}

TEST(Closeness, OfASampleWithItselfIsOne) {
  Points same = random_points(10, 2, 1);
  Closeness c = closeness(cloud_of({same, same}), 0, 1, 3);
  EXPECT_EQ(c.precision, 1.0);
  EXPECT_EQ(c.recall, 1.0);
  EXPECT_EQ(c.coverage, 1.0);
}

TEST(Closeness, WhatIsJustAsFarAsTheNeighbourIsOutside) {
  Points real = {{0}, {1}, {2}};  // each ball reaches to distance 1, its end not included
  EXPECT_EQ(closeness(cloud_of({real, {{3}, {-1}, {3}}}), 0, 1, 1).precision, 0.0);
  EXPECT_EQ(closeness(cloud_of({real, {{2.5}, {-1}, {3}}}), 0, 1, 1).density, 1.0 / 3);
}

TEST(Closeness, UniformScoresCoverNothing) {  // all of them one point: balls without an inside
  Points one(6, {0.5, 0.5});
  EXPECT_EQ(closeness(cloud_of({one, one}), 0, 1, 5).precision, 0.0);
}

TEST(Closeness, RefusesMoreNeighboursThanThereAre) {
  EXPECT_THROW(closeness(cloud_of({random_points(5, 1, 1), random_points(5, 1, 2)}), 0, 1, 5),
               Error);
}

TEST(Entropy, OfKnownRows) {
  EXPECT_NEAR(entropy(std::vector<float>(7, 1.0F / 7)), std::log(7.0), 1e-6);
  EXPECT_EQ(entropy(std::vector<float>{0, 1, 0}), 0.0);
}

TEST(Moments, DivideByOneLess) {
  Moments m = moments(std::vector<double>{1, 2, 3, 6});
  EXPECT_DOUBLE_EQ(m.mean, 3.0);
  EXPECT_DOUBLE_EQ(m.deviation, std::sqrt(14.0 / 3));
  EXPECT_EQ(moments(std::vector<double>{4}).deviation, 0.0);
}

TEST(Quantile, LiesBetweenNeighbours) {
  EXPECT_DOUBLE_EQ(quantile({4, 1, 3, 2}, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(quantile({4, 1, 3, 2}, 0.0), 1.0);
  EXPECT_DOUBLE_EQ(quantile({4, 1, 3, 2}, 1.0), 4.0);
  EXPECT_DOUBLE_EQ(quantile({0, 10}, 0.25), 2.5);
}

TEST(Power, FindsTheExponent) {
  std::vector<double> x = {1, 2, 4, 8}, y;
  for (double value : x) y.push_back(3 * std::pow(value, -0.5));
  EXPECT_NEAR(power(x, y), -0.5, 1e-12);
}

}  // namespace
}  // namespace spex
