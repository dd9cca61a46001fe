// The value is 1 / (E H) sum_i (mean over i's neighbours j of log q_i . k_j) - log q_i . z, summed
// over heads, with z the sum of all keys and i over the nodes that have neighbours.
#include <spex/core/threads.h>
#include <spex/ops/random_features.h>

#include <cmath>
#include <span>
#include <vector>

#include "ops/checks.h"
#include "ops/columns.h"
#include "ops/gather_kernels.h"
#include "ops/linear_parts.h"

namespace spex {
namespace {

constexpr size_t kBlockRows = 128;

struct Call {
  Pattern pattern;
  size_t heads, width;  // features of one head

  double terms() const { return static_cast<double>(pattern.graph->edges() * heads); }
};

std::span<const NodeId> row_of(const AttentionGraph& graph, size_t i) {
  return {graph.neighbours.data() + graph.offsets[i], graph.offsets[i + 1] - graph.offsets[i]};
}

float dot(const float* a, const float* b, size_t count) {
  float sum = 0.0F;
  for (size_t i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

std::vector<float> sum_of_rows(ConstMatrixView k) {
  std::vector<double> exact = column_sums(k);
  return {exact.begin(), exact.end()};
}

// What node i adds, before the division by the number of edges and heads.
double row_value(const Call& c, ConstMatrixView q, ConstMatrixView k, const std::vector<float>& z,
                 size_t i, std::vector<float>& products) {
  std::span<const NodeId> row = row_of(*c.pattern.graph, i);
  if (row.empty()) return 0.0;
  double value = 0;
  products.resize(row.size());
  for (size_t first = 0; first < c.heads * c.width; first += c.width) {
    SPEX_CALL(gather_products, products.data(), q.row(i) + first, k.data + first, k.stride,
              row.data(), row.size(), c.width);
    double sum = 0;
    for (float product : products) sum += std::log(product);
    value += sum / static_cast<double>(row.size()) -
             std::log(dot(q.row(i) + first, z.data() + first, c.width));
  }
  return value;
}

// With w = dvalue / (E H): dq_i = w (sum_j k_j / (degree(i) q_i . k_j) - z / (q_i . z)),
// dk_j = w sum_i q_i / (degree(i) q_i . k_j) + dz, dz = -w sum_i q_i / (q_i . z).
struct Backward {
  const Call& c;
  ConstMatrixView q, k;
  std::vector<float> z;
  float w;

  // Adds to dq_i (may be null) and to dz.
  void query(float* dq, float* dz, size_t i, std::vector<float>& weights) const {
    std::span<const NodeId> row = row_of(*c.pattern.graph, i);
    if (row.empty()) return;
    float share = w / static_cast<float>(row.size());
    weights.resize(row.size());
    for (size_t first = 0; first < c.heads * c.width; first += c.width) {
      const float* qi = q.row(i) + first;
      float down = -w / dot(qi, z.data() + first, c.width);
      for (size_t f = 0; f < c.width; ++f) dz[first + f] += down * qi[f];
      if (!dq) continue;
      for (size_t f = 0; f < c.width; ++f) dq[first + f] += down * z[first + f];
      SPEX_CALL(gather_products, weights.data(), qi, k.data + first, k.stride, row.data(),
                row.size(), c.width);
      for (float& weight : weights) weight = share / weight;
      SPEX_CALL(gather_sum, dq + first, weights.data(), k.data + first, k.stride, row.data(),
                row.size(), c.width);
    }
  }

  // Adds to dk_j.
  void key(float* dk, const float* dz, size_t j, std::vector<float>& weights) const {
    std::span<const NodeId> row = row_of(*c.pattern.transposed, j);
    weights.resize(row.size());
    for (size_t first = 0; first < c.heads * c.width; first += c.width) {
      for (size_t f = first; f < first + c.width; ++f) dk[f] += dz[f];
      SPEX_CALL(gather_products, weights.data(), k.row(j) + first, q.data + first, q.stride,
                row.data(), row.size(), c.width);
      for (size_t n = 0; n < row.size(); ++n)
        weights[n] = w / (static_cast<float>(row_of(*c.pattern.graph, row[n]).size()) * weights[n]);
      SPEX_CALL(gather_sum, dk + first, weights.data(), q.data + first, q.stride, row.data(),
                row.size(), c.width);
    }
  }
};

void backward(const Backward& b, const std::shared_ptr<Gradient>& gq,
              const std::shared_ptr<Gradient>& gk) {
  size_t nodes = b.q.rows, cols = b.q.cols;
  MatrixView dq = gq ? gq->accumulator(nodes, cols) : MatrixView{};
  Slices slices(nodes, kBlockRows);
  Matrix parts = Matrix::zeros(slices.count, cols, MemoryTag::gradients);
  slices.for_blocks([&](size_t slice, size_t first, size_t count) {
    std::vector<float> weights;
    for (size_t i = first; i < first + count; ++i)
      b.query(gq ? dq.row(i) : nullptr, parts.view().row(slice), i, weights);
  });
  if (!gk) return;
  Matrix dz = Matrix::zeros(1, cols, MemoryTag::gradients);
  for (size_t slice = 0; slice < slices.count; ++slice) add(dz, parts.view().block(slice, 1));
  MatrixView dk = gk->accumulator(nodes, cols);
  parallel_for(nodes, kBlockRows, [&](size_t begin, size_t end) {
    std::vector<float> weights;
    for (size_t j = begin; j < end; ++j) b.key(dk.row(j), dz.data(), j, weights);
  });
}

}  // namespace

// Kept for backward: q and k.
Var edge_log_attention(Tape& tape, const Var& q, const Var& k, const Pattern& pattern,
                       size_t heads) {
  require_same_shape(q, k, "edge_log_attention");
  require_packed(k.value(), "edge_log_attention");
  require(pattern.graph && pattern.transposed,
          "edge_log_attention: a pattern of all rows is needed");
  require(q.rows() == pattern.sources() && pattern.graph->edges() > 0,
          "edge_log_attention: {} rows for a graph of {} nodes and {} edges", q.rows(),
          pattern.sources(), pattern.graph->edges());
  require(heads > 0 && q.cols() > 0 && q.cols() % heads == 0,
          "edge_log_attention: {} heads do not divide {} columns", heads, q.cols());
  Call c{pattern, heads, q.cols() / heads};
  std::vector<float> z = sum_of_rows(k.value());
  double sum = parallel_sum(q.rows(), kBlockRows, 0.0, [&](size_t begin, size_t end) {
    std::vector<float> products;
    double part = 0;
    for (size_t i = begin; i < end; ++i) part += row_value(c, q.value(), k.value(), z, i, products);
    return part;
  });
  Matrix value(1, 1, MemoryTag::activations);
  value(0, 0) = static_cast<float>(sum / c.terms());
  return tape.result(std::move(value), {q, k},
                     [c, z = std::move(z), kq = q.keep(), kk = k.keep(), gq = q.gradient(),
                      gk = k.gradient()](ConstMatrixView dvalue) {
                       auto w = static_cast<float>(dvalue(0, 0) / c.terms());
                       backward({c, kq->view(), kk->view(), z, w}, gq, gk);
                     });
}

}  // namespace spex
