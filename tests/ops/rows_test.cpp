#include <spex/core/error.h>
#include <spex/ops/rows.h>

#include "double_reference.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

std::vector<NodeId> random_rows(size_t count, size_t of) {
  std::vector<NodeId> rows(count);
  Random random(3, Purpose::test);
  for (size_t i = 0; i < count; ++i) rows[i] = static_cast<NodeId>(random.below(of, i));
  return rows;
}

TEST(GatherRows, MatchesDoublePrecisionWithRepeatedAndAbsentRows) {
  for (size_t cols : kWidths)
    for (size_t of : {1, 40}) {
      std::vector<NodeId> rows = random_rows(60, of);
      expect_matches(
          matrices(random_matrix(of, cols, 1)),
          [&](Tape& tape, std::vector<Var>& in) { return gather_rows(tape, in[0], rows); },
          [&](const Doubles& in) {
            std::vector<double> y;
            for (NodeId row : rows)
              for (size_t c = 0; c < cols; ++c) y.push_back(in[0][row * cols + c]);
            return y;
          });
    }
}

TEST(GatherRows, SameBytesForAnyThreadCount) {
  std::vector<NodeId> rows = random_rows(20000, 3000);
  expect_same_bytes_for_any_thread_count(
      matrices(random_matrix(3000, 9, 1)),
      [&](Tape& tape, std::vector<Var>& in) { return gather_rows(tape, in[0], rows); });
}

TEST(GatherRows, RejectsARowThatIsNotThere) {
  Tape tape;
  std::vector<NodeId> rows = {0, 3};
  EXPECT_THROW(gather_rows(tape, tape.variable(random_matrix(3, 2, 1)), rows), Error);
}

TEST(FirstRows, SharesTheBufferAndKeepsItAlive) {
  Tape tape;
  Var top;
  const float* data = nullptr;
  {
    Var x = tape.variable(random_matrix(5, 3, 1));
    data = x.value().data;
    top = first_rows(tape, x, 2);
  }
  EXPECT_EQ(top.value().data, data);
  EXPECT_EQ(top.rows(), 2U);
  expect_near(top.value(), random_matrix(5, 3, 1).view().block(0, 2), 0, "first rows");
}

TEST(FirstRows, GivesZerosToTheOtherRowsAndAddsToOtherUses) {
  auto program = [](const Doubles& in) { return std::vector<double>(&in[0][0], &in[0][6]); };
  auto run = [](Tape& tape, std::vector<Var>& in) { return first_rows(tape, in[0], 2); };
  expect_matches(matrices(random_matrix(5, 3, 1)), run, program);
  check_gradients(matrices(random_matrix(5, 3, 1)), [](Tape& tape, std::vector<Var>& in) {
    return concatenate(tape, first_rows(tape, in[0], 2), first_rows(tape, in[0], 2));
  });
}

TEST(Concatenate, MatchesDoublePrecisionForwardAndBackward) {
  for (size_t left : {1, 3, 8})
    for (size_t right : kWidths)
      expect_matches(
          matrices(random_matrix(11, left, 1), random_matrix(11, right, 2)),
          [](Tape& tape, std::vector<Var>& in) { return concatenate(tape, in[0], in[1]); },
          [&](const Doubles& in) {
            std::vector<double> y;
            for (size_t r = 0; r < 11; ++r) {
              y.insert(y.end(), &in[0][r * left], &in[0][r * left] + left);
              y.insert(y.end(), &in[1][r * right], &in[1][r * right] + right);
            }
            return y;
          });
}

TEST(Rows, RejectWhatDoesNotFit) {
  Tape tape;
  Var x = tape.variable(random_matrix(3, 2, 1)), y = tape.variable(random_matrix(2, 2, 1));
  EXPECT_THROW(concatenate(tape, x, y), Error);
  EXPECT_THROW(first_rows(tape, x, 4), Error);
}

}  // namespace
}  // namespace spex
