#include "study/lanczos.h"

#include <spex/core/random.h>
#include <spex/core/threads.h>

#include <Eigen/Eigenvalues>
#include <cmath>

namespace spex {
namespace {

using Vector = std::vector<double>;
constexpr size_t kVectorBlock = 4096;

double dot(const Vector& a, const Vector& b) {
  return parallel_sum(a.size(), kVectorBlock, 0.0, [&](size_t begin, size_t end) {
    double part = 0;
    for (size_t i = begin; i < end; ++i) part += a[i] * b[i];
    return part;
  });
}

// y += factor x
void add(Vector& y, double factor, const Vector& x) {
  parallel_for(y.size(), kVectorBlock, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) y[i] += factor * x[i];
  });
}

void scale(Vector& y, double factor) {
  for (double& value : y) value *= factor;
}

struct LargestValue {
  double value;
  double residual;  // some eigenvalue is this close to `value`
};

// Of the tridiagonal matrix; the last entry of `beside` leads out of it.
LargestValue estimate(const Vector& diagonal, const Vector& beside) {
  auto k = static_cast<Eigen::Index>(diagonal.size());
  Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver;
  solver.computeFromTridiagonal(Eigen::Map<const Eigen::VectorXd>(diagonal.data(), k),
                                Eigen::Map<const Eigen::VectorXd>(beside.data(), k - 1));
  return {solver.eigenvalues()[k - 1],
          beside.back() * std::abs(solver.eigenvectors()(k - 1, k - 1))};
}

}  // namespace

// The three-term recurrence holds three vectors: one extreme eigenvalue needs no orthogonal basis.
double largest_eigenvalue(size_t size, const Operator& apply, const LanczosOptions& options) {
  Vector before(size, 0.0), now(size), next(size), diagonal, beside;
  auto leave_out = [&](Vector& x) {
    if (!options.without.empty()) add(x, -dot(x, options.without), options.without);
  };
  Random random(0, Purpose::generator, 2);
  for (size_t i = 0; i < size; ++i) now[i] = random.normal(i);
  leave_out(now);
  scale(now, 1 / std::sqrt(dot(now, now)));
  for (;;) {
    apply(next, now);
    if (!beside.empty()) add(next, -beside.back(), before);
    diagonal.push_back(dot(next, now));
    add(next, -diagonal.back(), now);
    leave_out(next);
    beside.push_back(std::sqrt(dot(next, next)));
    LargestValue e = estimate(diagonal, beside);
    bool exhausted = beside.back() <= 1e-12 * (std::abs(e.value) + beside.front());
    if (exhausted || e.residual <= options.tolerance * std::abs(e.value) ||
        diagonal.size() >= options.most_steps)
      return e.value;
    scale(next, 1 / beside.back());
    std::swap(before, now);
    std::swap(now, next);
  }
}

}  // namespace spex
