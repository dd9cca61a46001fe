#include <pthread.h>
#include <spex/core/error.h>
#include <spex/tensor/gemm.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>
#include <vector>

#include "gradient_check.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

float entry(const Matrix& m, Transpose t, size_t r, size_t c) {
  return t == Transpose::no ? m(r, c) : m(c, r);
}

TEST(Gemm, AllFourTranspositionsMatchDoublePrecision) {
  constexpr size_t m = 13, n = 7, k = 29;
  for (Transpose ta : {Transpose::no, Transpose::yes})
    for (Transpose tb : {Transpose::no, Transpose::yes})
      for (float beta : {0.0F, 1.0F}) {
        Matrix a = ta == Transpose::no ? random_matrix(m, k, 1) : random_matrix(k, m, 1);
        Matrix b = tb == Transpose::no ? random_matrix(k, n, 2) : random_matrix(n, k, 2);
        Matrix out = random_matrix(m, n, 3), before = clone(out);
        gemm(out, a, ta, b, tb, beta);
        for (size_t r = 0; r < m; ++r)
          for (size_t c = 0; c < n; ++c) {
            double sum = beta * before(r, c);
            for (size_t i = 0; i < k; ++i) sum += double{entry(a, ta, r, i)} * entry(b, tb, i, c);
            EXPECT_NEAR(out(r, c), sum, 1e-5 * (1 + std::abs(sum)));
          }
      }
}

TEST(Gemm, WorksOnColumnsOfAWiderMatrix) {
  Matrix wide = random_matrix(6, 10, 1), b = random_matrix(4, 3, 2), out(6, 3, MemoryTag::other);
  gemm(out, wide.view().columns(5, 4), Transpose::no, b, Transpose::no);
  double sum = 0;
  for (size_t i = 0; i < 4; ++i) sum += double{wide(2, 5 + i)} * b(i, 1);
  EXPECT_NEAR(out(2, 1), sum, 1e-5);
}

TEST(Gemm, RejectsShapesThatDoNotMatch) {
  Matrix a = random_matrix(2, 3, 1), b = random_matrix(4, 2, 2), out(2, 2, MemoryTag::other);
  EXPECT_THROW(gemm(out, a, Transpose::no, b, Transpose::no), Error);
}

// A handler on a thread that is inside a product has corrupted the heap (see core/signals.h).
TEST(Gemm, SurvivesSignals) {
  static std::atomic<int> handled;
  handled = 0;
  auto before = std::signal(SIGUSR1, [](int) { ++handled; });
  std::atomic<bool> done = false;
  std::thread sender([&done, self = pthread_self()] {
    while (!done) {
      pthread_kill(self, SIGUSR1);
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  });
  Matrix a = random_matrix(512, 128, 1), b = random_matrix(128, 128, 2), first, product;
  auto multiply = [&] {
    Matrix out(512, 128, MemoryTag::other);
    gemm(out, a, Transpose::no, b, Transpose::no);
    return out;
  };
  first = multiply();
  for (int round = 0; round < 2000; ++round) {
    product = multiply();
    std::vector<float> neighbour(100, 1.0F);  // the heap is in use around the products
    ASSERT_EQ(neighbour[99], 1.0F);
  }
  done = true;
  sender.join();
  std::signal(SIGUSR1, before);
  EXPECT_GT(handled, 0);
  EXPECT_TRUE(std::equal(first.span().begin(), first.span().end(), product.span().begin()));
}

}  // namespace
}  // namespace spex
