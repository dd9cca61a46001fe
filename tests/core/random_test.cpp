#include <gtest/gtest.h>
#include <spex/core/cpu.h>
#include <spex/core/random.h>

#include <algorithm>
#include <cmath>

namespace spex {
namespace {

TEST(Random, SameKeySameNumberAndAnyOtherKeyAnother) {
  Random random(7, Purpose::test, 3, 2);
  EXPECT_EQ(random.bits(5), Random(7, Purpose::test, 3, 2).bits(5));
  EXPECT_NE(random.bits(5), random.bits(6));
  EXPECT_NE(random.bits(5), Random(8, Purpose::test, 3, 2).bits(5));
  EXPECT_NE(random.bits(5), Random(7, Purpose::dropout, 3, 2).bits(5));
  EXPECT_NE(random.bits(5), Random(7, Purpose::test, 4, 2).bits(5));
  EXPECT_NE(random.bits(5), Random(7, Purpose::test, 3, 1).bits(5));
  EXPECT_NE(random.bits(5), Random(7 + (uint64_t{1} << 32), Purpose::test, 3, 2).bits(5));
}

TEST(Random, UniformHasTheRightMomentsAndStaysInside) {
  Random random(1, Purpose::test);
  double sum = 0, squares = 0;
  constexpr int kCount = 100000;
  for (int i = 0; i < kCount; ++i) {
    double u = random.uniform(i);
    ASSERT_GT(u, 0.0);
    ASSERT_LT(u, 1.0);
    sum += u;
    squares += u * u;
  }
  EXPECT_NEAR(sum / kCount, 0.5, 5 * std::sqrt(1.0 / 12 / kCount));
  EXPECT_NEAR(squares / kCount, 1.0 / 3, 0.005);
}

TEST(Random, NormalHasTheRightMoments) {
  Random random(2, Purpose::test);
  double sum = 0, squares = 0, fourth = 0;
  constexpr int kCount = 100000;
  for (int i = 0; i < kCount; ++i) {
    double x = random.normal(i);
    sum += x;
    squares += x * x;
    fourth += x * x * x * x;
  }
  EXPECT_NEAR(sum / kCount, 0.0, 5 / std::sqrt(kCount));
  EXPECT_NEAR(squares / kCount, 1.0, 0.03);
  EXPECT_NEAR(fourth / kCount, 3.0, 0.2);
}

TEST(Random, PermutationsOfThreeAreEquallyLikely) {
  int counts[3][3] = {};
  constexpr int kTrials = 6000;
  for (int t = 0; t < kTrials; ++t) {
    auto order = random_permutation(3, Random(t, Purpose::test));
    ASSERT_NE(order[0], order[1]);
    ++counts[order[0]][order[1]];
  }
  double chi = 0;
  for (int a = 0; a < 3; ++a)
    for (int b = 0; b < 3; ++b)
      if (a != b) chi += std::pow(counts[a][b] - 1000.0, 2) / 1000.0;
  EXPECT_LT(chi, 20.5);  // 5 degrees of freedom, p = 0.001
}

TEST(Random, BelowStaysBelowItsBound) {
  Random random(3, Purpose::test);
  for (uint64_t bound : {1ULL, 2ULL, 7ULL, 1ULL << 40})
    for (int i = 0; i < 100; ++i) EXPECT_LT(random.below(bound, i), bound);
}

TEST(Random, FillGivesTheSameBitsAsOneByOneOnEveryInstructionSet) {
  Isa before = isa();
  Random random((uint64_t{5} << 32) + 7, Purpose::test, 3, 2);
  for (Isa each : supported_isas()) {
    set_isa(each);
    for (size_t count : {0, 1, 4, 7, 64, 1000, 1027})
      for (uint64_t first : {uint64_t{0}, uint64_t{0xFFFFFFF0}, uint64_t{1} << 40}) {
        std::vector<uint32_t> words(count + 1, 42);
        random.fill({words.data(), count}, first);
        for (size_t i = 0; i < count; ++i)
          ASSERT_EQ(words[i], random.bits(first + i / 4)[i % 4])
              << name(each) << ", word " << i << " of " << count << " from " << first;
        EXPECT_EQ(words[count], 42U) << "wrote past the end";
      }
  }
  set_isa(before);
}

}  // namespace
}  // namespace spex
