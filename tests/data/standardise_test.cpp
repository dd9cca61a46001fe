#include <gtest/gtest.h>
#include <spex/core/error.h>
#include <spex/data/standardise.h>

#include <algorithm>
#include <cmath>

#include "data/draft.h"

namespace spex {
namespace {

Features dense(std::vector<float> values, size_t cols) {
  size_t rows = values.size() / cols;
  return DenseFeatures{rows, cols, share(std::move(values))};
}

TEST(Standardise, DenseColumnsGetMeanZeroAndDeviationOne) {
  std::vector<float> values;
  for (size_t i = 0; i < 9000; ++i) {  // more than one block of rows
    values.push_back(5e6F + static_cast<float>(i % 7));
    values.push_back(static_cast<float>(i % 2));
    values.push_back(3.5F);
    values.push_back(1e-4F * static_cast<float>(i % 5));
  }
  Features given = dense(values, 4);
  Features result = scaled(given, measure_features(given));
  auto view = std::get<DenseFeatures>(result).view();
  for (size_t c : {size_t{0}, size_t{3}}) {
    double sum = 0, squares = 0;
    for (size_t r = 0; r < view.rows; ++r) sum += view(r, c), squares += view(r, c) * view(r, c);
    EXPECT_NEAR(sum / 9000, 0.0, 1e-3) << c;
    EXPECT_NEAR(squares / 9000, 1.0, 1e-3) << c;
  }
  EXPECT_EQ(view(1, 1), 1.0F);  // yes and no stay as they are
  EXPECT_EQ(view(7, 2), 0.0F);  // a constant
}

TEST(Standardise, SparseColumnsAreScaledAndNotCentred) {
  SparseMatrix matrix{3, 3, share(std::vector<uint64_t>{0, 2, 3, 4}),
                      share(std::vector<uint32_t>{0, 1, 1, 2}),
                      share(std::vector<float>{1.0F, 3e6F, -4e6F, 1.0F})};
  ColumnScaling scaling = measure_features(matrix);
  EXPECT_TRUE(scaling.mean.empty());
  Features result = scaled(matrix, scaling);
  const auto& values = std::get<SparseMatrix>(result).values;
  EXPECT_EQ(values[0], 1.0F);
  EXPECT_NEAR(values[1] * values[1] + values[2] * values[2], 2.0, 1e-5);
  EXPECT_EQ(values[3], 1.0F);
}

// A graph to predict on may be stored sparse where the one that was trained on was not.
TEST(Standardise, SparseColumnsAreCentredAsDenseOnesWere) {
  SparseMatrix matrix{2, 3, share(std::vector<uint64_t>{0, 2, 3}),
                      share(std::vector<uint32_t>{0, 2, 1}),
                      share(std::vector<float>{5.0F, 7.0F, 6.0F})};
  ColumnScaling scaling{{1.0, 2.0, 3.0}, {1.0, 0.5, 2.0}};
  Features one = scaled(matrix, scaling), other = scaled(dense({5, 0, 7, 0, 6, 0}, 3), scaling);
  auto values = std::get<DenseFeatures>(one).values.span();
  EXPECT_TRUE(std::ranges::equal(values, std::get<DenseFeatures>(other).values.span()));
  EXPECT_EQ(values[2], 8.0F);
}

TEST(Standardise, TargetsAreMeasuredOnTheGivenNodesAndComeBack) {
  Labels labels{Task::regression, 1, {}, share(std::vector<float>{5000, 5002, 1e9F, NAN, 5004})};
  std::vector<NodeId> train = {0, 1, 3, 4};
  ColumnScaling scaling = measure_targets(labels, train);
  EXPECT_DOUBLE_EQ(scaling.mean[0], 5002.0);  // node 2 is not trained on, node 3 has no target
  Labels small = scaled(labels, scaling);
  EXPECT_NEAR(small.values[4], std::sqrt(1.5), 1e-5);
  EXPECT_TRUE(std::isnan(small.values[3]));
  Matrix predictions(1, 1, MemoryTag::other);
  predictions(0, 0) = small.values[4];
  unscale(predictions, scaling);
  EXPECT_FLOAT_EQ(predictions(0, 0), 5004.0F);
}

TEST(Standardise, AnotherNumberOfColumnsIsRefused) {
  EXPECT_THROW(scaled(dense({1, 2, 3, 4}, 2), measure_features(dense({1, 2, 3}, 3))), Error);
}

}  // namespace
}  // namespace spex
