// The second-smallest eigenvalue of the Laplacian L = D - A, by Lanczos.
//
// Lanczos finds the largest eigenvalue quickly, so it runs on sigma I - L with sigma twice the
// largest degree, an upper bound of L's eigenvalues. The smallest eigenvalue of L, 0, belongs to
// the constant vector; projecting that out leaves the second-smallest as the answer.
//
// One extreme eigenvalue needs no orthogonal basis: the plain three-term recurrence holds three
// vectors, where a restarted solver such as Spectra's holds two dozen, and it stops by itself when
// the Krylov space is exhausted, where Spectra 1.0 returns nonsense (complete graphs). The tests
// compare with Spectra elsewhere.

#include <spex/core/error.h>
#include <spex/core/random.h>
#include <spex/core/threads.h>
#include <spex/graph/expander.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <vector>

namespace spex {
namespace {

using Vector = Buffer<double>;

constexpr size_t kBlock = 4096;
constexpr size_t kMostSteps = 1000;
// The eigenvalues of a large expander lie too densely to be told apart, and need not be: the bound
// they are held against has a slack of 0.1.
constexpr size_t kSmallGraph = 20'000;
constexpr double kTolerance = 1e-7, kToleranceOfLarge = 1e-3;

template <class Term>
double sum_of(size_t count, Term term) {
  return parallel_sum(count, kBlock, 0.0, [&](size_t begin, size_t end) {
    double part = 0;
    for (size_t i = begin; i < end; ++i) part += term(i);
    return part;
  });
}

template <class Body>
void for_each(size_t count, Body body) {
  parallel_for(count, kBlock, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) body(i);
  });
}

size_t largest_degree(const CsrGraph& graph) {
  size_t largest = 0;
  for (size_t i = 0; i < graph.nodes(); ++i) largest = std::max(largest, graph.degree(i));
  return largest;
}

void remove_mean(Vector& x) {
  double mean = sum_of(x.size(), [&](size_t i) { return x[i]; }) / static_cast<double>(x.size());
  for_each(x.size(), [&](size_t i) { x[i] -= mean; });
}

double norm(const Vector& x) {
  return std::sqrt(sum_of(x.size(), [&](size_t i) { return x[i] * x[i]; }));
}

// The basis so far as a tridiagonal matrix: `diagonal`, and `beside` it, whose last entry leads out
// of the basis.
struct Tridiagonal {
  std::vector<double> diagonal, beside;
};

struct Estimate {
  double value;
  double residual;  // some eigenvalue is this close to `value`
};

Estimate largest_eigenvalue(const Tridiagonal& t) {
  auto k = static_cast<Eigen::Index>(t.diagonal.size());
  Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver;
  solver.computeFromTridiagonal(Eigen::Map<const Eigen::VectorXd>(t.diagonal.data(), k),
                                Eigen::Map<const Eigen::VectorXd>(t.beside.data(), k - 1));
  return {solver.eigenvalues()[k - 1],
          t.beside.back() * std::abs(solver.eigenvectors()(k - 1, k - 1))};
}

class Lanczos {
 public:
  Lanczos(const CsrGraph& graph, double sigma)
      : graph_(graph),
        sigma_(sigma),
        before_(graph.nodes(), MemoryTag::graph),
        now_(graph.nodes(), MemoryTag::graph),
        next_(graph.nodes(), MemoryTag::graph) {
    Random random(0, Purpose::expander, ~0U);
    for_each(now_.size(), [&](size_t i) {
      now_[i] = random.uniform(i) - 0.5;
      before_[i] = 0.0;
    });
    remove_mean(now_);
    double length = norm(now_);
    for_each(now_.size(), [&](size_t i) { now_[i] /= length; });
  }

  // One more basis vector: next = (sigma I - L) now - alpha now - beta before, made unit length.
  void step() {
    double beta = t_.beside.empty() ? 0.0 : t_.beside.back();
    for_each(now_.size(), [&](size_t i) { next_[i] = row_product(i) - beta * before_[i]; });
    double alpha = sum_of(now_.size(), [&](size_t i) { return next_[i] * now_[i]; });
    for_each(now_.size(), [&](size_t i) { next_[i] -= alpha * now_[i]; });
    remove_mean(next_);
    t_.diagonal.push_back(alpha);
    t_.beside.push_back(norm(next_));
    if (exhausted()) return;
    for_each(now_.size(), [&](size_t i) { next_[i] /= t_.beside.back(); });
    std::swap(before_, now_);
    std::swap(now_, next_);
  }

  bool exhausted() const { return t_.beside.back() <= 1e-10 * sigma_; }
  size_t steps() const { return t_.diagonal.size(); }
  Estimate estimate() const { return largest_eigenvalue(t_); }

 private:
  double row_product(size_t i) const {
    double sum = (sigma_ - static_cast<double>(graph_.degree(i))) * now_[i];
    for (NodeId j : graph_.row(i)) sum += now_[j];
    return sum;
  }

  const CsrGraph& graph_;
  double sigma_;
  Vector before_, now_, next_;
  Tridiagonal t_;
};

}  // namespace

double spectral_gap(const CsrGraph& graph) {
  require(graph.symmetric, "the spectral gap is defined for undirected graphs only");
  if (graph.nodes() < 2 || graph.edges() == 0) return 0.0;
  double sigma = 2.0 * static_cast<double>(largest_degree(graph));
  double tolerance = sigma * (graph.nodes() <= kSmallGraph ? kTolerance : kToleranceOfLarge);
  Lanczos lanczos(graph, sigma);
  // Estimates cost the cube of the steps, so they are made ever more rarely.
  for (size_t target = 8;; target += target / 4) {
    do lanczos.step();
    while (lanczos.steps() < target && !lanczos.exhausted());
    Estimate estimate = lanczos.estimate();
    if (lanczos.exhausted() || estimate.residual <= tolerance || target > kMostSteps)
      return std::max(0.0, sigma - estimate.value);
  }
}

}  // namespace spex
