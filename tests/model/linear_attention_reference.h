// Linear attention in double precision, a pair of nodes at a time.
#pragma once

#include <algorithm>
#include <cmath>

#include "model/model_check.h"

namespace spex::testing_support {

struct ReferenceLinearAttention {
  size_t heads = 1;
  double own_value = 0, value_sum = 0, constant = 0;

  // key_weights: keys x heads, or empty for ones.
  Table operator()(const Table& q, const Table& k, const Table& v,
                   const Table& key_weights = {}) const {
    Table out(q.rows, v.cols);
    size_t width = v.cols / heads;
    for (size_t i = 0; i < q.rows; ++i)
      for (size_t h = 0; h < heads; ++h) {
        double below = constant;
        for (size_t j = 0; j < k.rows; ++j) {
          double score = product(q, i, k, j, h);
          if (key_weights.rows > 0) score *= key_weights(j, h);
          below += score;
          for (size_t d = h * width; d < (h + 1) * width; ++d)
            out(i, d) += (score + value_sum) * v(j, d);
        }
        for (size_t d = h * width; d < (h + 1) * width; ++d)
          out(i, d) = (out(i, d) + own_value * v(i, d)) / below;
      }
    return out;
  }

  // Of head h of q's row i and k's row j.
  double product(const Table& q, size_t i, const Table& k, size_t j, size_t h) const {
    size_t width = q.cols / heads;
    double sum = 0;
    for (size_t e = h * width; e < (h + 1) * width; ++e) sum += q(i, e) * k(j, e);
    return sum;
  }
};

// x over the root of the sum of its squares.
inline Table normalized(Table x) {
  double squares = 0;
  for (double value : x.values) squares += value * value;
  for (double& value : x.values) value /= std::sqrt(squares);
  return x;
}

}  // namespace spex::testing_support
