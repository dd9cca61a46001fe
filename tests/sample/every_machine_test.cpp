// Random numbers and samples are the same bits on every machine: what follows was written down on
// x86-64 with AVX2. Whoever changes these numbers changes every published result.
#include <gtest/gtest.h>

#include <array>

#include "sample/race_kernels.h"
#include "sample/support.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

TEST(EveryMachine, DrawsTheseRandomBits) {
  Random random(7, Purpose::test, 3, 2);
  EXPECT_EQ(random.bits(0),
            (std::array<uint32_t, 4>{1136321648, 4250990663, 992439617, 1979724293}));
  EXPECT_EQ(random.bits(uint64_t{1} << 40),
            (std::array<uint32_t, 4>{1954122701, 1969178202, 179906298, 515672841}));
  std::vector<uint32_t> words(7);
  random.fill(words, 5);
  EXPECT_EQ(words, (std::vector<uint32_t>{2795797167, 336438581, 39723441, 3587066302, 389971382,
                                          2512905449, 3643714105}));
}

TEST(EveryMachine, DrawsTheseNumbers) {
  Random random(7, Purpose::test, 3, 2);
  EXPECT_EQ(random.uniform(1), 0x1.f3a95cb6a9f66p-2);
  EXPECT_EQ(random.below(1000000007, 2), 864309639U);
  EXPECT_EQ(static_cast<float>(random.normal(3)), -0x1.0c34a6p-3F);
  EXPECT_EQ(random_permutation(8, random), (std::vector<uint32_t>{5, 7, 4, 6, 3, 0, 2, 1}));
}

TEST(EveryMachine, GivesEdgesTheseKeys) {
  std::vector<uint32_t> words = {0, 1, 0x12345678, 0x80000000, 0xDEADBEEF, 0xFFFFFFFF};
  std::vector<uint16_t> scores = {0x3C00, 0x3800, 0x2E66, 0x0001, 0x0000, 0x1234};
  size_t count = words.size();
  words.resize(count + kRowPadding);
  scores.resize(count + kRowPadding);
  std::vector<int32_t> keys(count + kRowPadding);
  SPEX_CALL(race_keys, keys.data(), words.data(), scores.data(), count);
  keys.resize(count);
  EXPECT_EQ(keys, (std::vector<int32_t>{796917760, 805306368, 1060954928, 1261531672, 1909318249,
                                        1186122078}));
}

TEST(EveryMachine, DrawsTheseNeighbours) {
  AttentionGraph graph = random_graph({40, 3, 17});
  Scores scores = random_scores(graph, 1);
  Sampler weighted(graph, &scores, Sampling::weighted, 11);
  Sampler uniform(graph, nullptr, Sampling::uniform, 11);
  EXPECT_EQ(draw(weighted, 0, 0, 6, 4), (std::vector<EdgeOffset>{2, 12, 21, 24, 35, 38}));
  EXPECT_EQ(draw(weighted, 2, 0, 6, 4), (std::vector<EdgeOffset>{47, 49, 50, 53, 57, 58}));
  EXPECT_EQ(draw(uniform, 0, 0, 6, 4), (std::vector<EdgeOffset>{12, 21, 24, 35, 38, 39}));
}

}  // namespace
}  // namespace spex
