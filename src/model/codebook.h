// The centres of what a model has seen, kept by k-means over its batches: every row counts for the
// centroid nearest to it, and centroids and sizes are averages that forget. State, not parameters.
#pragma once

#include <spex/model/layers.h>

namespace spex {

class Codebook {
 public:
  Codebook(Maker maker, const std::string& name, size_t count, size_t width, double decay);

  // Before the first update the centroids are rows of x. Does nothing later.
  void begin(ConstMatrixView x);
  // With n_m rows of x nearest to centroid m, and m' their mean:
  //   size_m = decay size_m + (1 - decay) n_m,   c_m += (1 - decay) n_m / size_m (m' - c_m)
  // which is the quotient of the two averages, of sums and of counts.
  void update(ConstMatrixView x);

  size_t count() const { return centroids_.rows(); }
  Matrix centroids() const;            // a copy: updates come before backward
  std::span<const float> log_sizes();  // minus infinity: of no use yet; until the next call

 private:
  std::vector<uint32_t> nearest(ConstMatrixView x) const;

  float decay_;
  Matrix centroids_;
  std::vector<float> sizes_, log_sizes_;
};

}  // namespace spex
