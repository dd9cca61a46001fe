// The convolutions of src/model/convolution.h in double precision.
#pragma once

#include "model/convolution.h"
#include "model/model_check.h"

namespace spex::testing_support {

// Row i's softmax over its neighbours, per head.
inline Table additive(const ReferenceModel& m, const Table& s, const std::string& name,
                      const ReferenceRows& rows, size_t heads) {
  size_t width = s.cols / heads;
  auto dot = [&](size_t node, size_t head, const std::string& vector) {
    double sum = 0;
    for (size_t c = head * width; c < (head + 1) * width; ++c)
      sum += s(node, c) * m.p.at(name + vector)(0, c);
    return sum;
  };
  Table y(rows.size(), s.cols);
  for (size_t i = 0; i < rows.size(); ++i)
    for (size_t h = 0; h < heads; ++h) {
      std::vector<double> weights;
      double total = 0;
      for (const ReferenceEdge& edge : rows[i]) {
        double e = dot(edge.neighbour, h, ".a_source") + dot(i, h, ".a_query");
        weights.push_back(std::exp(e > 0 ? e : 0.2 * e));
        total += weights.back();
      }
      for (size_t n = 0; n < weights.size(); ++n)
        for (size_t c = h * width; c < (h + 1) * width; ++c)
          y(i, c) += weights[n] / total * s(rows[i][n].neighbour, c);
    }
  return y;
}

inline Table mean(const Table& x, const ReferenceRows& rows) {
  Table y(rows.size(), x.cols);
  for (size_t i = 0; i < rows.size(); ++i)
    for (const ReferenceEdge& edge : rows[i])
      for (size_t c = 0; c < x.cols; ++c)
        y(i, c) += x(edge.neighbour, c) / static_cast<double>(rows[i].size());
  return y;
}

inline Table product(const ReferenceModel& m, const Table& x, const std::string& weight) {
  ReferenceModel alone = m;
  alone.p.erase(weight + ".bias");
  return alone.linear(x, weight);
}

inline Table convolution(const ReferenceModel& m, Convolution kind, size_t heads, const Table& x,
                         const std::string& name, const ReferenceRows& rows) {
  Table s = product(m, x, name), y;
  if (kind == Convolution::gcn) y = normalized_sum(s, rows);
  if (kind == Convolution::sage) y = sum(mean(s, rows), m.linear(x, name + ".own"));
  if (kind == Convolution::gat) y = additive(m, s, name, rows, heads);
  for (size_t r = 0; r < y.rows; ++r)
    for (size_t c = 0; c < y.cols; ++c) y(r, c) += m.p.at(name + ".bias")(0, c);
  return y;
}

}  // namespace spex::testing_support
