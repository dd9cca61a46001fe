// Attention over all pairs of nodes: softmax in blocks (GraphGPS), and without one (SGFormer,
// Polynormer), forward and backward. The limit is the rate of large matrix products on all threads.
#include <fmt/format.h>
#include <spex/core/error.h>
#include <spex/ops/dense_attention.h>
#include <spex/ops/linear_attention.h>
#include <spex/tensor/gemm.h>

#include <cmath>

#include "machine.h"

namespace spex {
namespace {

using bench::noise;

double product_rate() {
  constexpr size_t kSize = 512, kProducts = 16;
  Matrix a = noise(kSize, kSize, 1), b = noise(kSize, kSize, 2);
  Matrix out(kProducts * kSize, kSize, MemoryTag::other);
  double seconds = bench::median_seconds([&] {
    parallel_blocks(kProducts, [&](size_t i) {
      gemm(out.view().block(i * kSize, kSize), a, Transpose::no, b, Transpose::no);
    });
  });
  return 2.0 * kProducts * kSize * kSize * kSize / seconds;
}

struct Inputs {
  Matrix q, k, v;
  Inputs(size_t nodes, size_t width)
      : q(noise(nodes, width, 1)), k(noise(nodes, width, 2)), v(noise(nodes, width, 3)) {
    for (Matrix* x : {&q, &k})  // positive: linear attention divides by sums of products
      for (float& value : x->span()) value += 0.5F;
  }
};

// The first numbers of row 0 against the definition in double precision.
void check(ConstMatrixView out, const Inputs& in, size_t width, bool softmax) {
  std::vector<double> sum(width, 0.0);
  double total = 0;
  for (size_t j = 0; j < in.k.rows(); ++j) {
    double score = 0;
    for (size_t d = 0; d < width; ++d) score += double{in.q(0, d)} * in.k(j, d);
    double weight = softmax ? std::exp(score / std::sqrt(static_cast<double>(width))) : score;
    total += weight;
    for (size_t d = 0; d < width; ++d) sum[d] += weight * in.v(j, d);
  }
  for (size_t d = 0; d < width; ++d)
    require(std::abs(out(0, d) - sum[d] / total) < 1e-4, "wrong result of attention");
}

void measure(const char* name, size_t nodes, size_t width, size_t heads, bool softmax,
             double peak) {
  Inputs in(nodes, width);
  size_t head = width / heads;
  std::vector<double> forward, backward;
  size_t kept = 0, most = 0;
  for (int round = 0; round < 6; ++round) {
    Tape tape;
    auto variable = [&](const Matrix& x) {
      Matrix copied(nodes, width, MemoryTag::other);
      copy(copied, x);
      return tape.variable(std::move(copied));
    };
    Var q = variable(in.q), k = variable(in.k), v = variable(in.v);
    Matrix dy = noise(nodes, width, 4);
    size_t before = memory_use().current;
    reset_memory_peaks();
    auto seconds = [from = bench::seconds_used()]() mutable {
      double last = std::exchange(from, bench::seconds_used());
      return from - last;
    };
    Var out = softmax ? all_pairs_attention(tape, q, k, v, heads,
                                            {1.0F / std::sqrt(static_cast<float>(head)), {}})
                      : linear_attention(tape, q, k, v, heads, {});
    forward.push_back(seconds());
    if (round == 0) check(out.value(), in, head, softmax);
    kept = memory_use().current - before;
    tape.backward(std::move(out), std::move(dy));
    backward.push_back(seconds());
    most = memory_use().peak - before;
  }
  auto median = [](std::vector<double> all) {  // the first round warms up
    std::sort(all.begin() + 1, all.end());
    return all[1 + (all.size() - 1) / 2];
  };
  double pairs = static_cast<double>(nodes) * static_cast<double>(softmax ? nodes : head + 1);
  double work = 2.0 * pairs * static_cast<double>(width) * 2;
  double f = median(forward), b = median(backward), share = (softmax ? 2.5 : 3.0) * work;
  fmt::print(
      "{} {} x {}, {} heads: forward {:.3f} s ({:.0f} GFLOP/s, {:.0f}% of large products), "
      "backward {:.3f} s ({:.0f} GFLOP/s, {:.0f}%); output and kept {:.1f} MB, peak {:.1f} MB\n",
      name, nodes, width, heads, f, work / f * 1e-9, 100 * work / f / peak, b, share / b * 1e-9,
      100 * share / b / peak, static_cast<double>(kept) * 1e-6, static_cast<double>(most) * 1e-6);
}

}  // namespace
}  // namespace spex

int main() {
  double peak = spex::product_rate();
  fmt::print("products of 512 x 512 on {} threads: {:.0f} GFLOP/s\n", spex::threads(), peak * 1e-9);
  spex::measure("all pairs", 12'000, 64, 4, true, peak);
  spex::measure("all pairs", 12'000, 64, 1, true, peak);
  spex::measure("linear", 100'000, 64, 1, false, peak);
  spex::measure("linear", 11'758, 960, 16, false, peak);
}
