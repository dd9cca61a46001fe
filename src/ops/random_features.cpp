#include <spex/ops/random_features.h>
#include <spex/tensor/gemm.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "ops/checks.h"
#include "ops/dense_attention_kernels.h"
#include "ops/numbers.h"

namespace spex {
namespace {

constexpr size_t kBlockRows = 256;
constexpr float kEpsilon = 1e-6F;

using Row = std::vector<double>;

double dot(const Row& a, const Row& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

Row normal_row(size_t width, const Random& random, size_t first) {
  Row row(width);
  for (size_t i = 0; i < width; ++i) row[i] = random.normal(first + i);
  return row;
}

void scale_to(Row& row, double length) {
  double factor = length / std::sqrt(dot(row, row));
  for (double& value : row) value *= factor;
}

struct Call {
  size_t heads, width, features;  // width of one head, features of one head
  float scale;                    // u' = scale u
  float ratio;                    // M^-1/2
  bool keys;

  ConstMatrixView inputs(ConstMatrixView u, size_t h) const { return u.columns(h * width, width); }
  MatrixView outputs(MatrixView y, size_t h) const { return y.columns(h * features, features); }
};

// Half the square of u'.
float half_square(const Call& c, const float* u) {
  float sum = 0.0F;
  for (size_t d = 0; d < c.width; ++d) sum += u[d] * u[d];
  return 0.5F * c.scale * c.scale * sum;
}

// The largest u' P^T of a head, of which y holds u P^T: the same whatever the number of threads.
float largest_of_all(const Call& c, MatrixView y) {
  size_t blocks = (y.rows + kBlockRows - 1) / kBlockRows;
  std::vector<float> parts(blocks, std::numeric_limits<float>::lowest());
  parallel_for(y.rows, kBlockRows, [&](size_t begin, size_t end) {
    float& largest = parts[begin / kBlockRows];
    for (size_t i = begin; i < end; ++i)
      largest = std::max(largest, SPEX_CALL(largest_score, y.row(i), nullptr, c.scale, c.features));
  });
  return *std::max_element(parts.begin(), parts.end());
}

// From u P^T to the features, in place.
void finish(const Call& c, MatrixView y, ConstMatrixView u) {
  if (y.rows == 0) return;
  float shared = c.keys ? largest_of_all(c, y) : 0.0F;
  parallel_for(y.rows, kBlockRows, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      float* row = y.row(i);
      float largest = c.keys ? shared : SPEX_CALL(largest_score, row, nullptr, c.scale, c.features);
      SPEX_CALL(softmax_terms, row, nullptr, c.scale, largest + half_square(c, u.row(i)),
                c.features);
      for (size_t f = 0; f < c.features; ++f) row[f] = c.ratio * (row[f] + kEpsilon);
    }
  });
}

// With g = dy (y - ratio epsilon), the gradient of the exponents: du = scale (g P - sum(g) u').
void backward(const Call& c, GradientTarget du, ConstMatrixView u, ConstMatrixView p,
              ConstMatrixView y, ConstMatrixView dy) {
  parallel_for(u.rows, kBlockRows, [&](size_t begin, size_t end) {
    Matrix g(end - begin, c.features, MemoryTag::gradients);
    Matrix part(end - begin, c.width, MemoryTag::gradients);
    for (size_t h = 0; h < c.heads; ++h) {
      std::vector<float> sums(g.rows(), 0.0F);
      for (size_t r = 0; r < g.rows(); ++r)
        for (size_t f = 0, at = h * c.features; f < c.features; ++f, ++at) {
          g(r, f) = dy(begin + r, at) * (y(begin + r, at) - c.ratio * kEpsilon);
          sums[r] += g(r, f);
        }
      gemm(part, g, Transpose::no, p, Transpose::no);
      for (size_t r = 0; r < g.rows(); ++r)
        for (size_t d = 0, at = h * c.width; d < c.width; ++d, ++at) {
          float& to = du.out(begin + r, at);
          float whole = c.scale * (part(r, d) - sums[r] * c.scale * u(begin + r, at));
          to = du.add ? to + whole : whole;
        }
    }
  });
}

}  // namespace

// Gram and Schmidt, within blocks of `width` rows; twice, since once leaves what rounding made.
Matrix orthogonal_projection(size_t features, size_t width, const Random& random) {
  require(width > 0, "orthogonal_projection: directions of no numbers");
  Matrix result(features, width, MemoryTag::activations);
  std::vector<Row> block;
  for (size_t f = 0; f < features; ++f) {
    if (f % width == 0) block.clear();
    Row row = normal_row(width, random, 2 * f * width);
    for (int round = 0; round < 2; ++round)
      for (const Row& other : block) {
        double along = dot(row, other);
        for (size_t d = 0; d < width; ++d) row[d] -= along * other[d];
      }
    scale_to(row, 1.0);
    block.push_back(row);
    Row length = normal_row(width, random, (2 * f + 1) * width);
    scale_to(row, std::sqrt(dot(length, length)));
    for (size_t d = 0; d < width; ++d) result(f, d) = static_cast<float>(row[d]);
  }
  return result;
}

Matrix gumbel_weights(size_t keys, size_t heads, float temperature, const Random& random) {
  require(temperature > 0, "gumbel_weights: a temperature of {}", temperature);
  Matrix result(keys, heads, MemoryTag::activations);
  for_numbers(result.data(), result.size(), [&](size_t i) {
    return static_cast<float>(-std::log(-std::log(random.uniform(i))) / temperature);
  });
  for (size_t h = 0; h < heads; ++h) {
    float largest = std::numeric_limits<float>::lowest();
    for (size_t j = 0; j < keys; ++j) largest = std::max(largest, result(j, h));
    for (size_t j = 0; j < keys; ++j) result(j, h) = std::exp(result(j, h) - largest);
  }
  return result;
}

// Kept for backward: u, the projection and the features.
Var random_features(Tape& tape, const Var& u, const Var& projection, size_t heads,
                    const RandomFeatureOptions& options) {
  require(heads > 0 && u.cols() == heads * projection.cols() && projection.rows() > 0,
          "random_features: {} columns for {} heads and a projection of {} x {}", u.cols(), heads,
          projection.rows(), projection.cols());
  require(!projection.gradient(), "random_features: the projection must be a constant");
  require(options.temperature > 0, "random_features: a temperature of {}", options.temperature);
  Call c{heads, projection.cols(), projection.rows(), 0, 0, options.keys};
  c.scale = std::pow(static_cast<float>(c.width), -0.25F) / std::sqrt(options.temperature);
  c.ratio = 1.0F / std::sqrt(static_cast<float>(c.features));
  Matrix y(u.rows(), heads * c.features, MemoryTag::activations);
  parallel_for(u.rows(), kBlockRows, [&](size_t begin, size_t end) {
    for (size_t h = 0; h < heads; ++h)
      gemm(c.outputs(y, h).block(begin, end - begin),
           c.inputs(u.value(), h).block(begin, end - begin), Transpose::no, projection.value(),
           Transpose::yes);
  });
  for (size_t h = 0; h < heads; ++h) finish(c, c.outputs(y, h), c.inputs(u.value(), h));
  auto shared = Tape::share(std::move(y));
  return tape.result(
      shared, {u},
      [c, shared, ku = u.keep(), kp = projection.keep(), du = u.gradient()](ConstMatrixView dy) {
        backward(c, du->target(ku->view().rows, ku->view().cols), ku->view(), kp->view(),
                 shared->view(), dy);
      });
}

}  // namespace spex
