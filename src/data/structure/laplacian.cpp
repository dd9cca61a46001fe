// The largest eigenvalues of S = D^-1/2 A D^-1/2 belong to the smallest of the Laplacian I - S. A
// block of vectors is filtered by a Chebyshev polynomial of S, which is small where eigenvalues are
// not wanted and grows fast above (Zhou, Saad, Tiago, Chelikowsky 2006), made orthonormal, and
// rotated to the eigenvectors of S within their span. A block finds eigenvalues that come several
// times, which a single Krylov sequence does not: graphs have as many zeros as components.

#include <spex/core/random.h>
#include <spex/core/threads.h>
#include <spex/data/structure.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <vector>

#include "data/structure/undirected.h"

namespace spex {
namespace {

constexpr size_t kLaplacianRows = 2048;  // of a block of a parallel loop
constexpr size_t kDirectly = 500;        // nodes that a dense solver takes
constexpr size_t kGuard = 8;             // vectors more than wanted: they speed up those that are
constexpr int kDegree = 12;              // of the polynomial
using Small = Eigen::MatrixXd;
using Vectors = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

class Operator {
 public:
  explicit Operator(const CsrGraph& graph) : graph_(graph), root_(graph.nodes()) {
    double total = 0;
    for (size_t i = 0; i < graph.nodes(); ++i) {
      auto degree = static_cast<double>(graph.degree(i));
      root_[i] = degree == 0 ? 0.0 : 1.0 / std::sqrt(degree);
      total += degree;
    }
    first_.resize(static_cast<Eigen::Index>(graph.nodes()));
    for (size_t i = 0; i < graph.nodes(); ++i)
      first_[static_cast<Eigen::Index>(i)] =
          std::sqrt(static_cast<double>(graph.degree(i)) / std::max(1.0, total));
  }
  size_t nodes() const { return graph_.nodes(); }
  // The eigenvector to the largest eigenvalue, 1.
  const Eigen::VectorXd& first() const { return first_; }

  // y = scale (S x - shift x) - back z
  void apply(Vectors& y, const Vectors& x, double scale, double shift, double back,
             const Vectors& z) const {
    parallel_for(nodes(), kLaplacianRows, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        auto row = static_cast<Eigen::Index>(i);
        Eigen::RowVectorXd sum = Eigen::RowVectorXd::Zero(x.cols());
        for (NodeId j : graph_.row(i)) sum += root_[j] * x.row(j);
        y.row(row) = scale * (root_[i] * sum - shift * x.row(row));
        if (back != 0.0) y.row(row) -= back * z.row(row);
      }
    });
  }

 private:
  const CsrGraph& graph_;
  std::vector<double> root_;
  Eigen::VectorXd first_;
};

// x^T y, summed in the order of the blocks.
Small product(const Vectors& x, const Vectors& y) {
  Small zero = Small::Zero(x.cols(), y.cols());
  return parallel_sum(
      static_cast<size_t>(x.rows()), kLaplacianRows, zero, [&](size_t begin, size_t end) {
        auto b = static_cast<Eigen::Index>(begin), n = static_cast<Eigen::Index>(end - begin);
        return Small(x.middleRows(b, n).transpose() * y.middleRows(b, n));
      });
}

void rotate(Vectors& x, const Small& by) {
  parallel_for(static_cast<size_t>(x.rows()), kLaplacianRows, [&](size_t begin, size_t end) {
    auto b = static_cast<Eigen::Index>(begin), n = static_cast<Eigen::Index>(end - begin);
    x.middleRows(b, n) = (x.middleRows(b, n) * by).eval();
  });
}

void remove_first(Vectors& x, const Operator& s) {
  Vectors first = s.first();
  x -= first * product(first, x);
}

// Twice, since once is not exact where vectors were almost dependent.
void make_orthonormal(Vectors& x, const Operator& s) {
  for (int pass = 0; pass < 2; ++pass) {
    remove_first(x, s);
    Eigen::SelfAdjointEigenSolver<Small> solver(product(x, x));
    Eigen::VectorXd values = solver.eigenvalues();
    double floor = 1e-14 * values[values.size() - 1] + 1e-300;
    for (double& v : values) v = 1.0 / std::sqrt(std::max(v, floor));
    rotate(x, solver.eigenvectors() * values.asDiagonal());
  }
}

// The Chebyshev polynomial that is at most 1 on [-1, bound], scaled so as not to overflow.
void filter(Vectors& x, const Operator& s, double bound) {
  double half = (bound + 1) / 2, middle = (bound - 1) / 2;
  double sigma = half / (1 - middle), first_sigma = sigma;
  Vectors y(x.rows(), x.cols()), none;
  s.apply(y, x, sigma / half, middle, 0.0, none);
  for (int degree = 2; degree <= kDegree; ++degree) {
    double next = 1 / (2 / first_sigma - sigma);
    s.apply(x, y, 2 * next / half, middle, sigma * next, Vectors(x));
    std::swap(x, y);
    sigma = next;
  }
  std::swap(x, y);
}

// Rotates to the eigenvectors of S in the span of x, the largest first; the eigenvalues.
Eigen::VectorXd rayleigh_ritz(Vectors& x, const Operator& s, double& residual,
                              Eigen::Index wanted) {
  Vectors sx(x.rows(), x.cols()), none;
  s.apply(sx, x, 1.0, 0.0, 0.0, none);
  Eigen::SelfAdjointEigenSolver<Small> solver(product(x, sx));
  Small order = solver.eigenvectors().rowwise().reverse();
  Eigen::VectorXd values = solver.eigenvalues().reverse();
  rotate(x, order);
  rotate(sx, order);
  sx -= x * values.asDiagonal();
  Small squares = product(sx, sx);
  residual = std::sqrt(squares.diagonal().head(wanted).maxCoeff());
  return values;
}

Vectors solve_directly(const Operator& s) {
  auto n = static_cast<Eigen::Index>(s.nodes());
  Vectors matrix(n, n), identity = Vectors::Identity(n, n), none;
  s.apply(matrix, identity, 1.0, 0.0, 0.0, none);
  matrix -= 3.0 * s.first() * s.first().transpose();  // the first becomes the last
  Eigen::SelfAdjointEigenSolver<Small> solver(Small((matrix + matrix.transpose()) / 2));
  return solver.eigenvectors().rowwise().reverse();
}

Vectors random_vectors(size_t rows, size_t cols, uint64_t seed) {
  Random random(seed, Purpose::expander, ~0U, 1);
  Vectors x(static_cast<Eigen::Index>(rows), static_cast<Eigen::Index>(cols));
  for (size_t i = 0; i < rows * cols; ++i) x.data()[i] = random.uniform(i) - 0.5;
  return x;
}

// Of entries of almost the same size the first decides, whatever the rounding.
bool is_negative(const Eigen::VectorXd& x) {
  double largest = x.cwiseAbs().maxCoeff();
  return *std::find_if(x.begin(), x.end(),
                       [&](double v) { return std::abs(v) >= (1 - 1e-3) * largest; }) < 0;
}

// Mean square 1, the sign fixed.
void store(Matrix& out, const Vectors& x, size_t columns) {
  for (size_t c = 0; c < columns; ++c) {
    Eigen::VectorXd column = x.col(static_cast<Eigen::Index>(c));
    double scale = std::sqrt(static_cast<double>(x.rows())) * (is_negative(column) ? -1 : 1);
    for (size_t i = 0; i < out.rows(); ++i)
      out(i, c) = static_cast<float>(scale * column[static_cast<Eigen::Index>(i)]);
  }
}

}  // namespace

LaplacianFeatures laplacian_features(const CsrGraph& given, const LaplacianOptions& options) {
  CsrGraph graph = undirected(given);
  size_t nodes = graph.nodes(), wanted = options.vectors;
  LaplacianFeatures result{Matrix::zeros(nodes, wanted, MemoryTag::features)};
  if (nodes < 2 || graph.edges() == 0) return result;
  Operator s(graph);
  if (nodes <= std::max(kDirectly, 2 * (wanted + kGuard))) {
    store(result.values, solve_directly(s), std::min(wanted, nodes - 1));
    return result;
  }
  Vectors x = random_vectors(nodes, wanted + kGuard, options.seed);
  make_orthonormal(x, s);
  Eigen::VectorXd values = rayleigh_ritz(x, s, result.residual, static_cast<Eigen::Index>(wanted));
  for (size_t round = 0; round < options.most_rounds && result.residual > options.tolerance;
       ++round) {
    filter(x, s, std::clamp(values[values.size() - 1], -0.5, 0.999));
    make_orthonormal(x, s);
    values = rayleigh_ritz(x, s, result.residual, static_cast<Eigen::Index>(wanted));
  }
  store(result.values, x, wanted);
  return result;
}

}  // namespace spex
