// How two samples of vectors differ. The vectors are the score rows of one node in one layer, one
// per network, in groups of networks.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace spex {

// Groups of vectors and all distances among them. Reused from node to node.
class Cloud {
 public:
  explicit Cloud(std::vector<size_t> group_sizes);

  void start(size_t dimensions);  // forgets the vectors
  void set(size_t group, size_t i, std::span<const float> vector);
  void measure();  // all vectors are set: their distances

  size_t size(size_t group) const { return sizes_[group]; }
  // Euclidean.
  float distance(size_t group_a, size_t i, size_t group_b, size_t j) const {
    return distances_[(first_[group_a] + i) * padded_ + first_[group_b] + j];
  }

 private:
  std::vector<size_t> sizes_, first_;  // first_: where a group's vectors begin
  size_t padded_;                      // vectors, rounded up so that kernels need no remainder
  size_t dimensions_ = 0;
  std::vector<float> columns_;    // [dimension][vector]
  std::vector<float> distances_;  // [vector][vector]
};

// 2 E|x - y| - E|x - x'| - E|y - y'|, pairs of a vector with itself left out: without bias, and so
// below zero at times. A group of one has no spread.
double energy_distance(const Cloud& cloud, size_t a, size_t b);

// How well `other` reproduces `real`. A ball is the set of points nearer to a vector than its k-th
// nearest neighbour in its own group is; what is just as far is outside.
struct Closeness {
  double precision = 0;  // share of others inside some real ball
  double recall = 0;     // share of reals inside some other's ball
  double density = 0;    // real balls that an other is in, over k; the mean
  double coverage = 0;   // share of reals with an other inside their ball
};
Closeness closeness(const Cloud& cloud, size_t real, size_t other, size_t k);

double entropy(std::span<const float> scores);  // in nats

struct Moments {
  double mean = 0;
  double deviation = 0;  // n - 1 in the denominator; 0 for one number
};
Moments moments(std::span<const double> values);

// The value below which a share of the values lies, between neighbours in proportion.
double quantile(std::vector<double> values, double share);

// The slope of log y over log x by least squares: y grows like x to this power.
double power(std::span<const double> x, std::span<const double> y);

}  // namespace spex
