// The linear layer, forward and backward, against bare oneDNN products of the same shapes: one for
// the result, one for the gradient of the input, one for that of the weights. What the layer does
// besides (bias, ReLU, gradient of the bias, tape) is inside its time.
#include <fmt/core.h>
#include <spex/core/error.h>
#include <spex/ops/linear.h>
#include <spex/tensor/gemm.h>

#include <cmath>

#include "machine.h"

namespace spex {
namespace {

using bench::noise;

// Rows are shared out among the threads, which is how one product uses them all.
void products(Matrix& y, Matrix& dx, Matrix& dw, const Matrix& x, const Matrix& w,
              const Matrix& dy) {
  size_t half = (x.rows() + 1) / 2;
  Matrix parts(2 * w.rows(), w.cols(), MemoryTag::other);
  parallel_for(x.rows(), half, [&](size_t begin, size_t end) {
    size_t count = end - begin;
    gemm(y.view().block(begin, count), x.view().block(begin, count), Transpose::no, w,
         Transpose::no);
    gemm(dx.view().block(begin, count), dy.view().block(begin, count), Transpose::no, w,
         Transpose::yes);
    gemm(parts.view().block(begin / half * w.rows(), w.rows()), x.view().block(begin, count),
         Transpose::yes, dy.view().block(begin, count), Transpose::no);
  });
  copy(dw, parts.view().block(0, w.rows()));
  add(dw, parts.view().block(w.rows(), w.rows()));
}

void measure(size_t rows, size_t width) {
  Matrix x = noise(rows, width, 1), w = noise(width, width, 2), b = noise(1, width, 3),
         dy = noise(rows, width, 4);
  Matrix y(rows, width, MemoryTag::other), dx(rows, width, MemoryTag::other),
      dw(width, width, MemoryTag::other);
  double bare = bench::median_seconds([&] { products(y, dx, dw, x, w, dy); }, 9);
  Matrix layer_dx, layer_dw;
  double layer = 0;
  std::vector<double> seconds;
  for (int round = 0; round < 10; ++round) {
    Tape tape;
    // Copies are made before the clock starts.
    Matrix xc(rows, width, MemoryTag::other), wc(width, width, MemoryTag::other),
        bc(1, width, MemoryTag::other), dyc(rows, width, MemoryTag::gradients);
    copy(xc, x), copy(wc, w), copy(bc, b), copy(dyc, dy);
    Var vx = tape.variable(std::move(xc)), vw = tape.variable(std::move(wc)),
        vb = tape.variable(std::move(bc));
    double begin = bench::seconds_used();
    Var out = linear(tape, vx, vw, vb);
    Var loss = tape.result(Matrix::zeros(1, 1, MemoryTag::other), {out},
                           [&, g = out.gradient()](ConstMatrixView) { g->give(std::move(dyc)); });
    tape.backward(loss);
    seconds.push_back(bench::seconds_used() - begin);
    for (size_t i = 0; round == 0 && i < width * width; ++i)
      require(std::abs(vw.gradient()->view().data[i] - dw.data()[i]) < 1e-2,
              "wrong gradient of the weights");
  }
  std::sort(seconds.begin(), seconds.end());
  layer = seconds[seconds.size() / 2];
  double flops = 6.0 * static_cast<double>(rows * width * width);
  fmt::print(
      "linear {} x {} x {}, forward+backward: {:.0f} GFLOP/s, bare products {:.0f} GFLOP/s: "
      "{:.0f}%\n",
      rows, width, width, flops / layer * 1e-9, flops / bare * 1e-9, 100 * bare / layer);
}

}  // namespace
}  // namespace spex

int main() {
  spex::measure(100'000, 64);
  spex::measure(100'000, 128);
}
