#include <spex/core/error.h>
#include <spex/core/memory.h>
#include <spex/core/threads.h>
#include <spex/ops/elementwise.h>
#include <spex/ops/linear.h>
#include <spex/ops/rows.h>

#include <array>
#include <cmath>

#include "double_reference.h"
#include "gradient_check.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

struct Shape {
  size_t rows, in, out;
};

class LinearShapes : public testing::TestWithParam<Shape> {};

// y = x W + b and its gradients, in double precision, straight from the definition.
struct Reference {
  std::vector<double> y, dx, dw, db;
  Reference(const Matrix& x, const Matrix& w, const Matrix& b, const Matrix& dy) {
    size_t n = x.rows(), in = x.cols(), out = w.cols();
    y.assign(n * out, 0);
    dx.assign(n * in, 0);
    dw.assign(in * out, 0);
    db.assign(out, 0);
    for (size_t r = 0; r < n; ++r)
      for (size_t o = 0; o < out; ++o) {
        double sum = b(0, o);
        for (size_t i = 0; i < in; ++i) sum += double{x(r, i)} * w(i, o);
        y[r * out + o] = sum;
        double d = dy(r, o);
        db[o] += d;
        for (size_t i = 0; i < in; ++i) {
          dx[r * in + i] += d * w(i, o);
          dw[i * out + o] += d * x(r, i);
        }
      }
  }
};

void expect_close(ConstMatrixView actual, const std::vector<double>& expected, const char* what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  double scale = 1;
  for (double value : expected) scale = std::max(scale, std::abs(value));
  for (size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(actual.data[i], expected[i], 1e-5 * scale) << what << " entry " << i;
}

TEST_P(LinearShapes, MatchesDoublePrecisionForwardAndBackward) {
  auto [rows, in, out] = GetParam();
  Matrix x = random_matrix(rows, in, 1), w = random_matrix(in, out, 2),
         b = random_matrix(1, out, 3);
  Tape tape;
  Var vx = tape.variable(clone(x)), vw = tape.variable(clone(w)), vb = tape.variable(clone(b));
  Var y = linear(tape, vx, vw, vb);
  Matrix dy(rows, out, MemoryTag::other);
  Random random(99, Purpose::test, 1);
  for (size_t i = 0; i < dy.size(); ++i) dy.data()[i] = static_cast<float>(random.normal(i));
  Reference reference(x, w, b, dy);
  expect_close(y.value(), reference.y, "y");
  tape.backward(linear_form(tape, y));
  expect_close(vx.gradient()->view(), reference.dx, "dx");
  expect_close(vw.gradient()->view(), reference.dw, "dW");
  expect_close(vb.gradient()->view(), reference.db, "db");
}

INSTANTIATE_TEST_SUITE_P(Shapes, LinearShapes,
                         testing::Values(Shape{1, 1, 1}, Shape{5, 3, 4}, Shape{300, 17, 8},
                                         Shape{257, 8, 17}, Shape{1000, 32, 56}, Shape{513, 128, 3},
                                         Shape{9000, 4, 4}, Shape{5000, 64, 64}));

// Some rows of x: what gathering them first gives, and without a copy of them that is kept.
TEST(Linear, OfChosenRowsIsThatOfTheRowsGathered) {
  constexpr size_t kCount = 6000, kIn = 48, kOut = 40;
  std::vector<NodeId> rows;
  for (NodeId r = 1; r < kCount; r += 1 + r % 3) rows.push_back(r);
  Matrix x = random_matrix(kCount, kIn, 1), w = random_matrix(kIn, kOut, 2),
         b = random_matrix(1, kOut, 3), dy = random_matrix(rows.size(), kOut, 4);
  auto run = [&](bool gathered, bool added) {
    Tape tape;
    Var vx = tape.variable(clone(x)), vw = tape.variable(clone(w)), vb = tape.variable(clone(b)),
        vy = tape.variable(clone(dy));
    Var in = gathered ? gather_rows(tape, vx, rows) : vx;
    std::span<const NodeId> chosen = gathered ? std::span<const NodeId>{} : rows;
    Var y = added ? add_linear(tape, vy, in, vw, vb, chosen) : linear(tape, in, vw, vb, chosen);
    std::vector<Matrix> results;
    results.push_back(clone(y.value()));
    vx.gradient()->give(clone(x));  // there is a contribution already
    tape.backward(y, clone(dy));
    for (const Var& v : {vx, vw, vb}) results.push_back(clone(v.gradient()->view()));
    return results;
  };
  for (bool added : {false, true}) {
    std::vector<Matrix> expected = run(true, added), actual = run(false, added);
    for (size_t i = 0; i < expected.size(); ++i) {
      std::vector<double> values(expected[i].span().begin(), expected[i].span().end());
      expect_close(actual[i], values, "y, dx, dW and db in turn");
    }
  }
  Tape tape;
  Var vx = tape.variable(clone(x)), vw = tape.variable(clone(w));
  EXPECT_THROW(linear(tape, vx, vw, {}, std::vector<NodeId>{2, 1}), Error);
  EXPECT_THROW(linear(tape, vx, vw, {}, std::vector<NodeId>{kCount}), Error);
}

// The gradient of a square map's input is written over that of its result, unless there is one
// already.
TEST(Linear, ASquareMapNeedsNoTableForItsGradient) {
  constexpr size_t kRows = 20000, kWidth = 64, kTable = kRows * kWidth * sizeof(float);
  Matrix x = random_matrix(kRows, kWidth, 1), w = random_matrix(kWidth, kWidth, 2),
         dy = random_matrix(kRows, kWidth, 3);
  Reference reference(x, w, Matrix::zeros(1, kWidth, MemoryTag::other), dy);
  for (bool twice : {false, true}) {
    Tape tape;
    Var vx = tape.variable(clone(x)), vw = tape.variable(clone(w));
    Var y = linear(tape, vx, vw);
    if (twice) vx.gradient()->give(clone(dy));
    Matrix gradient = clone(dy);
    size_t before = memory_use().current;
    reset_memory_peaks();
    tape.backward(y, std::move(gradient));
    EXPECT_LT(memory_use().peak - before, kTable / 2);
    std::vector<double> expected = reference.dx;
    for (size_t i = 0; twice && i < expected.size(); ++i) expected[i] += dy.data()[i];
    expect_close(vx.gradient()->view(), expected, "dx");
    expect_close(vw.gradient()->view(), reference.dw, "dW");
  }
}

// y + x W + b, y handed over or not: the sum of both, and the gradient passed on to y.
TEST(AddLinear, MatchesDoublePrecisionForwardAndBackward) {
  for (auto [rows, in, out] : {Shape{1, 1, 1}, Shape{37, 5, 9}, Shape{1000, 64, 64}})
    for (bool handed : {false, true}) {
      Matrix x = random_matrix(rows, in, 1), w = random_matrix(in, out, 2),
             b = random_matrix(1, out, 3), y = random_matrix(rows, out, 4);
      Tape tape;
      Var vx = tape.variable(clone(x)), vw = tape.variable(clone(w)), vb = tape.variable(clone(b)),
          vy = tape.variable(clone(y));
      Var doubled = add(tape, vy, vy);
      const float* buffer = doubled.value().data;
      Var sum = handed ? add_linear(tape, std::move(doubled), vx, vw, vb)
                       : add_linear(tape, doubled, vx, vw, vb);
      EXPECT_EQ(sum.value().data == buffer, handed);
      Matrix dy = random_matrix(rows, out, 5);
      Reference expected(x, w, b, dy);
      std::vector<double> gradient;
      for (size_t i = 0; i < y.size(); ++i) {
        expected.y[i] += 2.0 * y.data()[i];
        gradient.push_back(2.0 * dy.data()[i]);
      }
      expect_close(sum.value(), expected.y, "y");
      tape.backward(sum, clone(dy));
      expect_close(vx.gradient()->view(), expected.dx, "dx");
      expect_close(vw.gradient()->view(), expected.dw, "dw");
      expect_close(vb.gradient()->view(), expected.db, "db");
      expect_close(vy.gradient()->view(), gradient, "dy");
    }
}

TEST(AddLinear, RejectsShapesThatDoNotMatch) {
  Tape tape;
  Var x = tape.variable(random_matrix(3, 4, 1)), w = tape.variable(random_matrix(4, 2, 2));
  EXPECT_THROW(add_linear(tape, x, x, w), Error);
}

TEST(Linear, GradientMatchesFiniteDifferences) {
  check_gradients(
      matrices(random_matrix(6, 4, 1), random_matrix(4, 3, 2), random_matrix(1, 3, 3)),
      [](Tape& tape, std::vector<Var>& in) { return linear(tape, in[0], in[1], in[2]); });
}

// The definition; which hidden numbers dropout keeps is what its 16 random bits say.
DoubleProgram feed_forward_program(size_t rows, size_t in, size_t hidden, size_t out, double rate,
                                   const Random& random) {
  return [=](const Doubles& v) {
    auto threshold = static_cast<uint32_t>(std::lround((1 - rate) * 65536));
    std::vector<double> y(rows * out);
    for (size_t r = 0; r < rows; ++r) {
      for (size_t o = 0; o < out; ++o) y[r * out + o] = v[4][o];
      for (size_t h = 0; h < hidden; ++h) {
        double sum = v[2][h];
        for (size_t i = 0; i < in; ++i) sum += v[0][r * in + i] * v[1][i * hidden + h];
        size_t place = r * hidden + h;
        uint32_t word = random.bits(place / 8)[place % 8 / 2];
        bool kept = (place % 2 == 0 ? word & 0xFFFF : word >> 16) < threshold;
        if (sum <= 0 || !kept) continue;
        for (size_t o = 0; o < out; ++o)
          y[r * out + o] += sum * 65536.0 / threshold * v[3][h * out + o];
      }
    }
    return y;
  };
}

TEST(FeedForward, MatchesDoublePrecisionForwardAndBackward) {
  Random random(5, Purpose::dropout, 2, 1);
  for (auto [rows, in, hidden, out] :
       {std::array<size_t, 4>{1, 3, 6, 3}, {150, 7, 14, 7}, {70, 8, 16, 8}, {100, 24, 48, 20}})
    for (double rate : {0.0, 0.3}) {
      SCOPED_TRACE(testing::Message() << rows << " rows, " << hidden << " hidden, rate " << rate);
      expect_matches(
          matrices(random_matrix(rows, in, 1), random_matrix(in, hidden, 2),
                   random_matrix(1, hidden, 3), random_matrix(hidden, out, 4),
                   random_matrix(1, out, 5)),
          [&](Tape& tape, std::vector<Var>& v) {
            return feed_forward(tape, v[0], {v[1], v[2], v[3], v[4]}, static_cast<float>(rate),
                                random);
          },
          feed_forward_program(rows, in, hidden, out, rate, random), 2e-5, 60);
    }
}

TEST(FeedForward, SameBytesForAnyThreadCount) {
  expect_same_bytes_for_any_thread_count(
      matrices(random_matrix(9000, 12, 1), random_matrix(12, 24, 2), random_matrix(1, 24, 3),
               random_matrix(24, 12, 4), random_matrix(1, 12, 5)),
      [](Tape& tape, std::vector<Var>& v) {
        return feed_forward(tape, v[0], {v[1], v[2], v[3], v[4]}, 0.4F,
                            Random(6, Purpose::dropout));
      });
}

TEST(FeedForward, RejectsShapesThatDoNotMatch) {
  Tape tape;
  Var x = tape.variable(random_matrix(2, 3, 1)), w = tape.variable(random_matrix(3, 6, 2));
  EXPECT_THROW(feed_forward(tape, x, {w, {}, w, {}}, 0.0F, Random(6, Purpose::dropout)), Error);
}

TEST(Linear, RejectsShapesThatDoNotMatch) {
  Tape tape;
  Var x = tape.variable(random_matrix(2, 3, 1));
  EXPECT_THROW(linear(tape, x, tape.variable(random_matrix(4, 2, 2))), std::exception);
}

TEST(GradientCheck, CatchesAPlantedWrongGradient) {
  auto wrong_square = [](Tape& tape, std::vector<Var>& in) {
    Matrix y = clone(in[0].value());
    for (float& value : y.span()) value *= value;
    return tape.result(std::move(y), {in[0]},
                       [x = in[0].keep(), dx = in[0].gradient()](ConstMatrixView dy) {
                         Matrix part = clone(dy);
                         for (size_t i = 0; i < part.size(); ++i)
                           part.data()[i] *= 1.9F * x->view().data[i];  // 2 is right
                         dx->give(std::move(part));
                       });
  };
  auto inputs = matrices(random_matrix(4, 4, 5));
  EXPECT_GT(gradient_error(inputs, wrong_square), 0.03);
}

}  // namespace
}  // namespace spex
