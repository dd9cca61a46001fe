#include <gtest/gtest.h>
#include <spex/graph/builder.h>
#include <spex/train/ground.h>

#include <cmath>

#include "gradient_check.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

constexpr NodeId kNodes = 60;
constexpr size_t kFeatures = 5, kHops = 3;

AttentionGraph ring_with_chords() {
  std::vector<NodeId> sources, targets;
  for (NodeId i = 0; i < kNodes; ++i) {
    sources.insert(sources.end(), {i, i});
    targets.insert(targets.end(), {(i + 1) % kNodes, i * i % kNodes});
  }
  return augment(build_csr(kNodes, sources, targets).graph, {});
}

// Every other number is zero: the same features, dense and sparse.
Matrix features() {
  Matrix x = random_matrix(kNodes, kFeatures, 1);
  for (size_t i = 0; i < x.size(); i += 2) x.data()[i] = 0.0F;
  return x;
}

SparseMatrix sparse(const Matrix& x) {
  std::vector<uint64_t> offsets = {0};
  std::vector<uint32_t> columns;
  std::vector<float> values;
  for (size_t i = 0; i < x.rows(); ++i) {
    for (size_t c = 0; c < x.cols(); ++c)
      if (x(i, c) != 0.0F) {
        columns.push_back(static_cast<uint32_t>(c));
        values.push_back(x(i, c));
      }
    offsets.push_back(columns.size());
  }
  auto shared = [](const auto& list) {
    Buffer<typename std::decay_t<decltype(list)>::value_type> buffer(list.size(), MemoryTag::other);
    std::copy(list.begin(), list.end(), buffer.begin());
    return buffer;
  };
  return {x.rows(), x.cols(), shared(offsets), shared(columns), shared(values)};
}

std::vector<double> next_hop(const AttentionGraph& graph, const std::vector<double>& x) {
  auto size = [&](size_t i) {
    return static_cast<double>(graph.offsets[i + 1] - graph.offsets[i]);
  };
  std::vector<double> y(x.size(), 0.0);
  for (size_t i = 0; i < kNodes; ++i)
    for (EdgeOffset e = graph.offsets[i]; e < graph.offsets[i + 1]; ++e)
      for (size_t c = 0; c < kFeatures; ++c) {
        size_t j = graph.neighbours[e];
        y[i * kFeatures + c] += x[j * kFeatures + c] / std::sqrt(size(i) * size(j));
      }
  return y;
}

TEST(HopFeatures, AreThePowersOfTheNormalisedGraphSideBySide) {
  AttentionGraph graph = ring_with_chords();
  Matrix x = features();
  Buffer<float> values(x.size(), MemoryTag::features);
  std::copy(x.span().begin(), x.span().end(), values.begin());
  DenseFeatures dense{kNodes, kFeatures, std::move(values)};
  DenseFeatures made = hop_features(dense, {}, graph, kHops);
  DenseFeatures from_sparse = hop_features(sparse(x), {}, graph, kHops);
  ASSERT_EQ(made.cols, kFeatures * (kHops + 1));
  std::vector<double> expected(x.span().begin(), x.span().end());
  for (size_t k = 0; k <= kHops; ++k, expected = next_hop(graph, expected))
    for (size_t i = 0; i < kNodes; ++i)
      for (size_t c = 0; c < kFeatures; ++c) {
        EXPECT_NEAR(made.view()(i, k * kFeatures + c), expected[i * kFeatures + c], 1e-6);
        EXPECT_EQ(made.view()(i, k * kFeatures + c), from_sparse.view()(i, k * kFeatures + c));
      }
}

TEST(HopFeatures, AverageWhatStandsBehindTheFeaturesAlike) {
  AttentionGraph graph = ring_with_chords();
  Matrix x = features(), extra = random_matrix(kNodes, kFeatures, 2);
  DenseFeatures alone = hop_features(sparse(x), {}, graph, kHops);
  DenseFeatures other = hop_features(sparse(extra), {}, graph, kHops);
  DenseFeatures both = hop_features(sparse(x), extra, graph, kHops);
  ASSERT_EQ(both.cols, 2 * kFeatures * (kHops + 1));
  for (size_t i = 0; i < kNodes; ++i)
    for (size_t k = 0; k <= kHops; ++k)
      for (size_t c = 0; c < kFeatures; ++c) {
        size_t to = 2 * k * kFeatures + c, from = k * kFeatures + c;
        EXPECT_EQ(both.view()(i, to), alone.view()(i, from));
        EXPECT_EQ(both.view()(i, to + kFeatures), other.view()(i, from));
      }
}

}  // namespace
}  // namespace spex
