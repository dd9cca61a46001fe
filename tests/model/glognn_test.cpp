#include "model/glognn.h"

#include "model/model_check.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

Table product(const Table& a, const Table& b, double factor = 1) {
  Table y(a.rows, b.cols);
  for (size_t r = 0; r < a.rows; ++r)
    for (size_t c = 0; c < b.cols; ++c)
      for (size_t k = 0; k < a.cols; ++k) y(r, c) += factor * a(r, k) * b(k, c);
  return y;
}

Table transposed(const Table& a) {
  Table y(a.cols, a.rows);
  for (size_t r = 0; r < a.rows; ++r)
    for (size_t c = 0; c < a.cols; ++c) y(c, r) = a(r, c);
  return y;
}

Table scaled(Table a, double factor) {
  for (double& value : a.values) value *= factor;
  return a;
}

// Gauss and Jordan; the matrices here have no small pivots.
Table inverse(Table a) {
  Table y(a.rows, a.rows);
  for (size_t i = 0; i < a.rows; ++i) y(i, i) = 1;
  for (size_t p = 0; p < a.rows; ++p) {
    double pivot = a(p, p);
    for (size_t c = 0; c < a.rows; ++c) a(p, c) /= pivot, y(p, c) /= pivot;
    for (size_t r = 0; r < a.rows; ++r) {
      double factor = r == p ? 0 : a(r, p);
      for (size_t c = 0; c < a.rows; ++c) a(r, c) -= factor * a(p, c), y(r, c) -= factor * y(p, c);
    }
  }
  return y;
}

Table sums(const Table& x, const ReferenceRows& rows) {
  Table y(rows.size(), x.cols);
  for (size_t i = 0; i < rows.size(); ++i)
    for (const ReferenceEdge& edge : rows[i])
      for (size_t c = 0; c < x.cols; ++c) y(i, c) += x(edge.neighbour, c);
  return y;
}

Table layer(const ReferenceModel& m, const GloGnnOptions& o, const Table& h, const Table& h0,
            const ReferenceRows& rows) {
  double g = 1 - o.gamma, c = 1 / (o.alpha + o.beta);
  Table s = product(transposed(h), h), inner = scaled(s, c);
  for (size_t i = 0; i < s.rows; ++i) inner(i, i) += 1 / (g * g);
  Table r = sum(scaled(h, g * c), product(h, product(inverse(inner), s), -g * c * c));
  Table t = product(transposed(h), r);
  Table y = sum(sum(product(h, t, g), product(h0, t, -o.gamma * g)), scaled(h0, o.gamma));
  for (size_t k = 0; k < o.orders; ++k) {
    r = normalized_sum(r, rows);
    y = sum(y, scaled(r, o.beta * m.p.at("orders." + std::to_string(k))(0, 0)));
  }
  return y;
}

TEST(GloGnn, MatchesDoublePrecisionWithAndWithoutTheGraphsRows) {
  AttentionGraph graph = attention_graph(kNodes, 40, 0);
  ReferenceRows rows = rows_of(graph);
  Neighbourhood whole = whole_neighbourhood({nullptr, nullptr, &graph});
  for (double delta : {1.0, 0.4}) {
    SCOPED_TRACE(delta);
    GloGnnOptions options;
    options.width = 6;
    options.alpha = 0.5;
    options.beta = 2;
    options.gamma = 0.3;
    options.delta = delta;
    options.dropout = 0;
    auto model = options.make({kInputs, kClasses, 0, kNodes}, 11);
    expect_model_matches(*model, whole, [&](const ReferenceModel& m, const Table& features) {
      Table x = scaled(m.linear(features, "features"), delta);
      if (delta < 1) x = sum(x, scaled(sums(m.p.at("graph_rows"), rows), 1 - delta));
      Table h0 = m.linear(relu(x), "start"), h = h0;
      for (size_t l = 0; l < options.layers; ++l) h = layer(m, options, h, h0, rows);
      return h;
    });
  }
}

}  // namespace
}  // namespace spex
