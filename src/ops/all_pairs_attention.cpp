// As FlashAttention: a block of queries meets one block of keys after another; the scores of two
// blocks exist for a moment only, and forward leaves per query and head the logarithm of the
// softmax's sum, from which backward makes the weights again. H heads, D head width.
#include <spex/core/threads.h>
#include <spex/ops/dense_attention.h>
#include <spex/tensor/gemm.h>

#include <cmath>
#include <limits>
#include <vector>

#include "ops/checks.h"
#include "ops/dense_attention_kernels.h"

namespace spex {
namespace {

constexpr size_t kQueries = 64;  // per block: with 512 keys, scores and their gradients fit the
constexpr size_t kKeys = 512;    // second-level cache
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kLowest = std::numeric_limits<float>::lowest();

struct Call {
  Var q, k, v;
  size_t heads, width;  // width of one head
  AllPairsOptions options;

  ConstMatrixView head(const Var& x, size_t h) const { return x.value().columns(h * width, width); }
  const float* bias(size_t first_key) const {
    return options.key_bias.empty() ? nullptr : options.key_bias.data() + first_key;
  }

  // Calls body(first key, number of keys) for every block of keys.
  template <class Body>
  void for_keys(Body&& body) const {
    for (size_t first = 0; first < k.rows(); first += kKeys)
      body(first, std::min(kKeys, k.rows() - first));
  }
};

Matrix scores_of(size_t queries, size_t keys) {
  return Matrix(queries, keys, MemoryTag::activations);
}

// The softmax of a block of queries so far: the largest score and the sum of exp(score - largest).
struct Running {
  std::vector<float> largest = std::vector<float>(kQueries, kLowest);
  std::vector<float> sum = std::vector<float>(kQueries, 0.0F);

  // Scores of row r become weights; what was summed before shrinks by the factor that comes back.
  float next(float* scores, const float* bias, float scale, size_t r, size_t count) {
    float before = largest[r];
    float now = std::max(before, SPEX_CALL(largest_score, scores, bias, scale, count));
    float factor = std::exp(before - now);
    sum[r] = sum[r] * factor + SPEX_CALL(softmax_terms, scores, bias, scale, now, count);
    largest[r] = now;
    return factor;
  }
};

// One head of a block of queries: out, and the logarithm of the sum of exp(score), infinite where
// there is no key.
void forward_block(const Call& c, MatrixView out, MatrixView logarithms, size_t h, size_t begin) {
  fill(out, 0.0F);
  Running running;
  ConstMatrixView q = c.head(c.q, h).block(begin, out.rows);
  c.for_keys([&](size_t first, size_t count) {
    Matrix scores = scores_of(out.rows, count);
    gemm(scores, q, Transpose::no, c.head(c.k, h).block(first, count), Transpose::yes);
    for (size_t r = 0; r < out.rows; ++r) {
      float factor = running.next(scores.view().row(r), c.bias(first), c.options.scale, r, count);
      for (size_t d = 0; d < c.width; ++d) out(r, d) *= factor;
    }
    gemm(out, scores, Transpose::no, c.head(c.v, h).block(first, count), Transpose::no, 1.0F);
  });
  for (size_t r = 0; r < out.rows; ++r) {
    float sum = running.sum[r];
    logarithms(r, h) = sum == 0.0F ? kInfinity : running.largest[r] + std::log(sum);
    for (size_t d = 0; d < c.width; ++d) out(r, d) *= sum == 0.0F ? 0.0F : 1.0F / sum;
  }
}

// The gradients of one head. Keys and values collect theirs in matrices of the caller's, M x D.
struct Backward {
  const Call& c;
  ConstMatrixView out, logarithms, dout;

  // With P the weights and dP = dout V^T: dV = P^T dout, dS = P (dP - dout . out),
  // dQ = scale dS K, dK = scale dS^T Q.
  void block(MatrixView dq, MatrixView dk, MatrixView dv, size_t h, size_t begin) const {
    size_t rows = dq.rows;
    ConstMatrixView q = c.head(c.q, h).block(begin, rows);
    ConstMatrixView d = dout.columns(h * c.width, c.width).block(begin, rows);
    std::vector<float> inner = products(d, out.columns(h * c.width, c.width).block(begin, rows));
    c.for_keys([&](size_t first, size_t count) {
      ConstMatrixView k = c.head(c.k, h).block(first, count),
                      v = c.head(c.v, h).block(first, count);
      Matrix p = scores_of(rows, count), ds = scores_of(rows, count);
      gemm(p, q, Transpose::no, k, Transpose::yes);
      gemm(ds, d, Transpose::no, v, Transpose::yes);
      for (size_t r = 0; r < rows; ++r) {
        SPEX_CALL(softmax_terms, p.view().row(r), c.bias(first), c.options.scale,
                  logarithms(begin + r, h), count);
        SPEX_CALL(score_gradients, ds.view().row(r), p.view().row(r), inner[r], c.options.scale,
                  count);
      }
      gemm(dv.block(first, count), p, Transpose::yes, d, Transpose::no, 1.0F);
      gemm(dk.block(first, count), ds, Transpose::yes, q, Transpose::no, 1.0F);
      gemm(dq, ds, Transpose::no, k, Transpose::no, 1.0F);
    });
  }

  static std::vector<float> products(ConstMatrixView a, ConstMatrixView b) {
    std::vector<float> sums(a.rows, 0.0F);
    for (size_t r = 0; r < a.rows; ++r)
      for (size_t d = 0; d < a.cols; ++d) sums[r] += a(r, d) * b(r, d);
    return sums;
  }
};

void add_to(const Var& x, const Matrix& part, size_t parts) {
  if (!x.gradient()) return;
  MatrixView out = x.gradient()->accumulator(x.rows(), x.cols());
  for (size_t i = 0; i < parts; ++i) add(out, part.view().block(i * x.rows(), x.rows()));
}

// Work is shared out by head and by group of query blocks; each group sums the gradients of keys
// and values on its own, and the sums are added in order. Eight shares keep as many threads busy,
// and the copies few.
void backward(const Call& c, const Backward& b) {
  size_t blocks = (c.q.rows() + kQueries - 1) / kQueries;
  size_t groups = std::clamp<size_t>(8 / c.heads, 1, std::max<size_t>(1, blocks));
  Matrix dq = Matrix::zeros(c.q.rows(), c.q.cols(), MemoryTag::gradients);
  Matrix dk = Matrix::zeros(groups * c.k.rows(), c.k.cols(), MemoryTag::gradients);
  Matrix dv = Matrix::zeros(groups * c.k.rows(), c.k.cols(), MemoryTag::gradients);
  parallel_blocks(groups * c.heads, [&](size_t share) {
    size_t group = share / c.heads, h = share % c.heads;
    auto part = [&](Matrix& x, size_t first, size_t count) {
      return x.view().columns(h * c.width, c.width).block(first, count);
    };
    for (size_t i = blocks * group / groups; i < blocks * (group + 1) / groups; ++i) {
      size_t begin = i * kQueries, count = std::min(kQueries, c.q.rows() - begin);
      b.block(part(dq, begin, count), part(dk, group * c.k.rows(), c.k.rows()),
              part(dv, group * c.k.rows(), c.k.rows()), h, begin);
    }
  });
  add_to(c.k, dk, groups);
  add_to(c.v, dv, groups);
  if (c.q.gradient()) c.q.gradient()->give(std::move(dq));
}

void check(const Call& c) {
  require(c.heads > 0 && c.q.cols() % c.heads == 0,
          "all-pairs attention: {} heads do not divide {} columns", c.heads, c.q.cols());
  require_same_shape(c.k, c.v, "all-pairs attention");
  require(c.q.cols() == c.k.cols(), "all-pairs attention: queries of {} columns, keys of {}",
          c.q.cols(), c.k.cols());
  size_t biases = c.options.key_bias.size();
  require(biases == 0 || biases == c.k.rows(), "all-pairs attention: {} biases for {} keys", biases,
          c.k.rows());
}

}  // namespace

// Kept for backward: q, k, v, the output and one number per query and head.
Var all_pairs_attention(Tape& tape, const Var& q, const Var& k, const Var& v, size_t heads,
                        const AllPairsOptions& options) {
  Call c{q, k, v, heads, heads ? q.cols() / heads : 0, options};
  check(c);
  Matrix out(q.rows(), q.cols(), MemoryTag::activations);
  auto logarithms = std::make_shared<Matrix>(q.rows(), heads, MemoryTag::activations);
  size_t blocks = (q.rows() + kQueries - 1) / kQueries;
  parallel_blocks(blocks * heads, [&](size_t share) {
    size_t h = share / blocks, begin = share % blocks * kQueries;
    size_t count = std::min(kQueries, q.rows() - begin);
    forward_block(c, out.view().columns(h * c.width, c.width).block(begin, count),
                  logarithms->view().block(begin, count), h, begin);
  });
  auto shared = Tape::share(std::move(out));
  return tape.result(shared, {q, k, v}, [c, logarithms, shared](ConstMatrixView dout) {
    backward(c, {c, shared->view(), logarithms->view(), dout});
  });
}

}  // namespace spex
