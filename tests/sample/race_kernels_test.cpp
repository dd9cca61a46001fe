#include "sample/race_kernels.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <numeric>

#include "sample/support.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

class RaceOnEveryIsa : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override { set_isa(GetParam()); }
  void TearDown() override { set_isa(before_); }

 private:
  Isa before_ = isa();
};

std::vector<int32_t> keys_of(std::vector<uint32_t> words, const uint16_t* scores = nullptr) {
  size_t count = words.size();
  std::vector<int32_t> keys(count + kRowPadding);
  words.resize(count + kRowPadding);
  SPEX_CALL(race_keys, keys.data(), words.data(), scores, count);
  keys.resize(count);
  return keys;
}

// Words over the whole range, and around every power of two.
std::vector<uint32_t> many_words() {
  std::vector<uint32_t> words;
  for (uint64_t word = 0; word < uint64_t{1} << 32; word += 4099)
    words.push_back(static_cast<uint32_t>(word));
  for (uint32_t bit = 0; bit < 32; ++bit)
    for (int near = -8; near <= 8; ++near) {
      words.push_back((1U << bit) + static_cast<uint32_t>(near));
      words.push_back(~words.back());
    }
  return words;
}

TEST_P(RaceOnEveryIsa, WaitingTimesMatchDoublePrecision) {
  auto words = many_words();
  auto keys = keys_of(words);
  for (size_t i = 0; i < words.size(); ++i) {
    double u = (static_cast<double>(words[i] >> 1) + 0.5) * 0x1p-31;
    double exact = -std::log1p(-u);
    double time = std::bit_cast<float>(keys[i]);
    // Late times lose what 1 - u, a 32-bit float, cannot tell apart: they lose the race anyway.
    double allowed = 3e-7 * exact + 0x1p-25 / (1 - u) * (u > 0.29);
    if (1 - u > 0x1p-24)
      ASSERT_NEAR(time, exact, allowed) << words[i];
    else
      ASSERT_TRUE(time > 16 && time < 18) << words[i] << ' ' << time;
  }
}

TEST_P(RaceOnEveryIsa, KeysAreTheSameBitsOnTheSimplestSet) {
  auto words = many_words();
  std::vector<uint16_t> scores(words.size());
  for (size_t i = 0; i < words.size(); ++i) scores[i] = static_cast<uint16_t>(i);
  auto keys = keys_of(words, scores.data());
  set_isa(supported_isas().front());
  EXPECT_EQ(keys, keys_of(words, scores.data()));
}

TEST_P(RaceOnEveryIsa, ScoresDivideTheWaitingTime) {
  std::vector<uint16_t> scores(0x10000);
  std::iota(scores.begin(), scores.end(), uint16_t{0});
  std::vector<Half> half(scores.size());
  for (size_t i = 0; i < half.size(); ++i) half[i].bits = scores[i];
  std::vector<float> values(scores.size());
  to_float(values, half);
  auto times = keys_of(std::vector<uint32_t>(scores.size(), 123456789));
  auto keys = keys_of(std::vector<uint32_t>(scores.size(), 123456789), scores.data());
  for (size_t i = 0; i < 0x7c00; ++i)  // finite and not negative
    ASSERT_EQ(std::bit_cast<float>(keys[i]),
              std::bit_cast<float>(times[i]) / (values[i] > 0 ? values[i] : 1e-30F))
        << values[i];
  for (size_t i = 0x8000; i < 0x10000; ++i) ASSERT_EQ(keys[i], keys[0]);  // negative: as zero
}

TEST_P(RaceOnEveryIsa, LogScoresMatchDoublePrecision) {
  std::vector<uint16_t> scores(0x7c00);
  std::iota(scores.begin(), scores.end(), uint16_t{0});
  std::vector<Half> half(scores.size());
  for (size_t i = 0; i < half.size(); ++i) half[i].bits = scores[i];
  std::vector<float> values(scores.size()), logs(scores.size());
  to_float(values, half);
  SPEX_CALL(log_scores, logs.data(), scores.data(), scores.size());
  for (size_t i = 0; i < scores.size(); ++i)
    ASSERT_NEAR(logs[i], std::log(double{values[i]} + 1e-8),
                1e-6 * (0.1 + std::abs(std::log(double{values[i]} + 1e-8))));
}

TEST_P(RaceOnEveryIsa, LogScoresWriteNothingBehindTheirEnd) {
  for (size_t count = 0; count < 40; ++count) {
    std::vector<uint16_t> scores(count, 0x3c00);
    std::vector<float> logs(count + 16, 7.0F);
    SPEX_CALL(log_scores, logs.data(), scores.data(), count);
    for (size_t i = 0; i < logs.size(); ++i) ASSERT_EQ(logs[i] == 7.0F, i >= count);
  }
}

std::vector<uint64_t> sorted_selection(const std::vector<int32_t>& keys, size_t k, uint64_t base) {
  std::vector<uint64_t> order(keys.size());
  std::iota(order.begin(), order.end(), uint64_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](uint64_t a, uint64_t b) { return keys[a] < keys[b]; });
  order.resize(k);
  std::sort(order.begin(), order.end());
  for (uint64_t& place : order) place += base;
  return order;
}

void expect_selection(const std::vector<int32_t>& keys, size_t k) {
  uint64_t base = (uint64_t{1} << 33) + 5;
  std::vector<int32_t> room = keys;
  room.resize(keys.size() + kRowPadding, -1);
  std::vector<uint64_t> places(k + 1, 99);
  SPEX_CALL(select_smallest, places.data(), room.data(), keys.size(), k, base);
  ASSERT_EQ(places.back(), 99) << "wrote behind the end";
  places.pop_back();
  ASSERT_EQ(places, sorted_selection(keys, k, base)) << keys.size() << " keys, k " << k;
}

TEST_P(RaceOnEveryIsa, SelectionAgreesWithSorting) {
  Random random(5, Purpose::test);
  uint64_t index = 0;
  for (uint64_t range : {1ULL, 2ULL, 7ULL, 1000ULL, 0x80000000ULL})
    for (size_t count = 2; count < 70; ++count)
      for (size_t k : {size_t{1}, size_t{2}, count / 3, count / 2, count - 1}) {
        if (k == 0 || k >= count) continue;
        std::vector<int32_t> keys(count);
        for (int32_t& key : keys) key = static_cast<int32_t>(random.below(range, index++));
        expect_selection(keys, k);
      }
}

TEST_P(RaceOnEveryIsa, SelectionFromALongRowAndAtTheEndsOfTheRange) {
  std::vector<int32_t> keys(100003);
  for (size_t i = 0; i < keys.size(); ++i)
    keys[i] = static_cast<int32_t>(Random(6, Purpose::test).below(0x80000000, i));
  for (size_t k : {1UL, 10UL, 50000UL, 100002UL}) expect_selection(keys, k);
  constexpr int32_t kMost = 0x7fffffff;
  expect_selection({kMost, kMost, 0, kMost, 0, kMost - 1}, 1);
  expect_selection({kMost, kMost, 0, kMost, 0, kMost - 1}, 3);
  expect_selection({kMost, kMost, 0, kMost, 0, kMost - 1}, 4);
}

INSTANTIATE_TEST_SUITE_P(Isas, RaceOnEveryIsa, testing::ValuesIn(supported_isas()),
                         [](const auto& info) { return std::string(name(info.param)); });

}  // namespace
}  // namespace spex
