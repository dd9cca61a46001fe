#include <spex/core/error.h>
#include <spex/study/statistics.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "study/distance_kernels.h"

namespace spex {
namespace {

// The mean distance between vectors of two groups; of one group: between two different ones.
double mean_distance(const Cloud& cloud, size_t a, size_t b) {
  double sum = 0;
  for (size_t i = 0; i < cloud.size(a); ++i)
    for (size_t j = 0; j < cloud.size(b); ++j) sum += cloud.distance(a, i, b, j);
  auto n = static_cast<double>(cloud.size(a)), m = static_cast<double>(cloud.size(b));
  if (a != b) return sum / (n * m);
  return n > 1 ? sum / (n * (n - 1)) : 0.0;
}

// The distance of each vector of a group to its k-th nearest in the group.
std::vector<float> radii(const Cloud& cloud, size_t group, size_t k) {
  size_t n = cloud.size(group);
  require(k > 0 && k < n, "the {}-th nearest neighbour among {} vectors", k, n);
  std::vector<float> result, others;
  for (size_t i = 0; i < n; ++i) {
    others.clear();
    for (size_t j = 0; j < n; ++j)
      if (j != i) others.push_back(cloud.distance(group, i, group, j));
    auto kth = others.begin() + static_cast<ptrdiff_t>(k - 1);
    std::nth_element(others.begin(), kth, others.end());
    result.push_back(*kth);
  }
  return result;
}

}  // namespace

Cloud::Cloud(std::vector<size_t> group_sizes) : sizes_(std::move(group_sizes)) {
  size_t count = 0;
  for (size_t size : sizes_) {
    require(size > 0, "a group without vectors");
    first_.push_back(count);
    count += size;
  }
  padded_ = (count + kDistanceLanes - 1) / kDistanceLanes * kDistanceLanes;
  distances_.resize(padded_ * padded_);
}

void Cloud::start(size_t dimensions) {
  dimensions_ = dimensions;
  columns_.assign(dimensions * padded_, 0.0F);
}

void Cloud::set(size_t group, size_t i, std::span<const float> vector) {
  float* to = columns_.data() + first_[group] + i;
  for (size_t d = 0; d < dimensions_; ++d) to[d * padded_] = vector[d];
}

void Cloud::measure() {
  SPEX_CALL(pair_distances, distances_.data(), columns_.data(), padded_, dimensions_);
}

double energy_distance(const Cloud& cloud, size_t a, size_t b) {
  return 2 * mean_distance(cloud, a, b) - mean_distance(cloud, a, a) - mean_distance(cloud, b, b);
}

Closeness closeness(const Cloud& cloud, size_t real, size_t other, size_t k) {
  size_t n = cloud.size(real), m = cloud.size(other);
  std::vector<float> real_radius = radii(cloud, real, k), other_radius = radii(cloud, other, k);
  std::vector<char> inside_real(m, 0);
  size_t hits = 0, covered = 0, recalled = 0;
  for (size_t i = 0; i < n; ++i) {
    bool is_covered = false, is_recalled = false;
    for (size_t j = 0; j < m; ++j) {
      float distance = cloud.distance(real, i, other, j);
      if (distance < real_radius[i]) {
        ++hits;
        is_covered = true;
        inside_real[j] = 1;
      }
      is_recalled |= distance < other_radius[j];
    }
    covered += is_covered;
    recalled += is_recalled;
  }
  auto share = [](size_t count, size_t of) {
    return static_cast<double>(count) / static_cast<double>(of);
  };
  auto precise = static_cast<size_t>(std::count(inside_real.begin(), inside_real.end(), 1));
  return {share(precise, m), share(recalled, n), share(hits, k * m), share(covered, n)};
}

double entropy(std::span<const float> scores) {
  double sum = 0;
  for (float p : scores)
    if (p > 0) sum -= static_cast<double>(p) * std::log(static_cast<double>(p));
  return sum;
}

Moments moments(std::span<const double> values) {
  Moments m;
  auto count = static_cast<double>(values.size());
  m.mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  for (double value : values) m.deviation += (value - m.mean) * (value - m.mean);
  m.deviation = values.size() > 1 ? std::sqrt(m.deviation / (count - 1)) : 0.0;
  return m;
}

double quantile(std::vector<double> values, double share) {
  require(!values.empty(), "a quantile of no values");
  double place = share * static_cast<double>(values.size() - 1);
  auto below = values.begin() + static_cast<ptrdiff_t>(place);
  std::nth_element(values.begin(), below, values.end());
  double low = *below, rest = place - std::floor(place);
  if (rest == 0) return low;
  return low + rest * (*std::min_element(below + 1, values.end()) - low);
}

double power(std::span<const double> x, std::span<const double> y) {
  auto n = static_cast<double>(x.size());
  double sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    double lx = std::log(x[i]), ly = std::log(y[i]);
    sx += lx, sy += ly, sxx += lx * lx, sxy += lx * ly;
  }
  return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

}  // namespace spex
