#include <spex/core/threads.h>
#include <spex/ops/linear.h>

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
  Reference(const Matrix& x, const Matrix& w, const Matrix& b, const Matrix& dy, bool relu) {
    size_t n = x.rows(), in = x.cols(), out = w.cols();
    y.assign(n * out, 0);
    dx.assign(n * in, 0);
    dw.assign(in * out, 0);
    db.assign(out, 0);
    for (size_t r = 0; r < n; ++r)
      for (size_t o = 0; o < out; ++o) {
        double sum = b(0, o);
        for (size_t i = 0; i < in; ++i) sum += double{x(r, i)} * w(i, o);
        bool passes = !relu || sum > 0;
        y[r * out + o] = passes ? sum : 0;
        double d = passes ? dy(r, o) : 0;
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
  for (Activation activation : {Activation::none, Activation::relu}) {
    Matrix x = random_matrix(rows, in, 1), w = random_matrix(in, out, 2),
           b = random_matrix(1, out, 3);
    Tape tape;
    Var vx = tape.variable(clone(x)), vw = tape.variable(clone(w)), vb = tape.variable(clone(b));
    Var y = linear(tape, vx, vw, vb, activation);
    Matrix dy(rows, out, MemoryTag::other);
    Random random(99, Purpose::test, 1);
    for (size_t i = 0; i < dy.size(); ++i) dy.data()[i] = static_cast<float>(random.normal(i));
    Reference reference(x, w, b, dy, activation == Activation::relu);
    expect_close(y.value(), reference.y, "y");
    tape.backward(linear_form(tape, y));
    expect_close(vx.gradient()->view(), reference.dx, "dx");
    expect_close(vw.gradient()->view(), reference.dw, "dW");
    expect_close(vb.gradient()->view(), reference.db, "db");
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, LinearShapes,
                         testing::Values(Shape{1, 1, 1}, Shape{5, 3, 4}, Shape{300, 17, 8},
                                         Shape{257, 8, 17}, Shape{1000, 32, 56}, Shape{513, 128, 3},
                                         Shape{9000, 4, 4}));

TEST(Linear, GradientMatchesFiniteDifferences) {
  check_gradients(
      matrices(random_matrix(6, 4, 1), random_matrix(4, 3, 2), random_matrix(1, 3, 3)),
      [](Tape& tape, std::vector<Var>& in) { return linear(tape, in[0], in[1], in[2]); });
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
