#include "model/codebook.h"

#include <spex/core/error.h>
#include <spex/core/threads.h>
#include <spex/tensor/gemm.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace spex {
namespace {

constexpr size_t kBlockRows = 64;
constexpr size_t kBlockClusters = 16;

// The rows of each cluster, ascending: those of m are [starts[m], starts[m + 1]) of `rows`.
struct Clusters {
  std::vector<size_t> starts;
  std::vector<size_t> rows;

  Clusters(const std::vector<uint32_t>& cluster_of, size_t count) : starts(count + 1, 0) {
    for (uint32_t m : cluster_of) ++starts[m + 1];
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
    rows.resize(cluster_of.size());
    std::vector<size_t> next = starts;
    for (size_t r = 0; r < cluster_of.size(); ++r) rows[next[cluster_of[r]]++] = r;
  }
  size_t size(size_t m) const { return starts[m + 1] - starts[m]; }
};

}  // namespace

Codebook::Codebook(Maker maker, const std::string& name, size_t count, size_t width, double decay)
    : decay_(static_cast<float>(decay)),
      centroids_(Matrix::zeros(count, width, MemoryTag::parameters)),
      sizes_(count, 0.0F) {
  maker.model.state().push_back({name + ".centroids", centroids_.span()});
  maker.model.state().push_back({name + ".sizes", sizes_});
}

void Codebook::begin(ConstMatrixView x) {
  bool begun = std::any_of(sizes_.begin(), sizes_.end(), [](float size) { return size > 0; });
  if (begun || x.rows == 0) return;
  for (size_t m = 0; m < count(); ++m)
    copy(centroids_.view().block(m, 1), x.block(m * x.rows / count(), 1));
  std::fill(sizes_.begin(), sizes_.end(), static_cast<float>(x.rows) / static_cast<float>(count()));
}

// |x - c|^2 is least where x . c - |c|^2 / 2 is largest; of equals the first.
std::vector<uint32_t> Codebook::nearest(ConstMatrixView x) const {
  std::vector<float> half_squares(count());
  for (size_t m = 0; m < count(); ++m) {
    const float* c = centroids_.view().row(m);
    half_squares[m] = 0.5F * std::inner_product(c, c + centroids_.cols(), c, 0.0F);
  }
  std::vector<uint32_t> nearest(x.rows);
  parallel_for(x.rows, kBlockRows, [&](size_t begin, size_t end) {
    Matrix products(end - begin, count(), MemoryTag::activations);
    gemm(products, x.block(begin, end - begin), Transpose::no, centroids_, Transpose::yes);
    for (size_t r = begin; r < end; ++r) {
      float* row = products.view().row(r - begin);
      for (size_t m = 0; m < count(); ++m) row[m] -= half_squares[m];
      nearest[r] = static_cast<uint32_t>(std::max_element(row, row + count()) - row);
    }
  });
  return nearest;
}

void Codebook::update(ConstMatrixView x) {
  Clusters clusters(nearest(x), count());
  parallel_for(count(), kBlockClusters, [&](size_t begin, size_t end) {
    std::vector<double> sum(x.cols);
    for (size_t m = begin; m < end; ++m) {
      auto members = static_cast<float>(clusters.size(m));
      sizes_[m] = decay_ * sizes_[m] + (1.0F - decay_) * members;
      if (members == 0) continue;
      std::fill(sum.begin(), sum.end(), 0.0);
      for (size_t i = clusters.starts[m]; i < clusters.starts[m + 1]; ++i)
        for (size_t c = 0; c < x.cols; ++c) sum[c] += x(clusters.rows[i], c);
      float* centroid = centroids_.view().row(m);
      float share = (1.0F - decay_) * members / sizes_[m];
      for (size_t c = 0; c < x.cols; ++c)
        centroid[c] += share * (static_cast<float>(sum[c] / members) - centroid[c]);
    }
  });
}

Matrix Codebook::centroids() const {
  Matrix copied(count(), centroids_.cols(), MemoryTag::activations);
  copy(copied, centroids_);
  return copied;
}

std::span<const float> Codebook::log_sizes() {
  log_sizes_.resize(count());
  std::transform(sizes_.begin(), sizes_.end(), log_sizes_.begin(),
                 [](float size) { return std::log(size); });
  return log_sizes_;
}

}  // namespace spex
