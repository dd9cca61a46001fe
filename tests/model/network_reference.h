// The whole network in double precision, straight from its formulas: no tape, no kernels, no
// tricks. What src/model and src/ops compute must agree with it.
#pragma once

#include <spex/model/network.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

namespace spex::testing_support {

struct Table {
  size_t rows = 0, cols = 0;
  std::vector<double> values;

  Table() = default;
  Table(size_t r, size_t c) : rows(r), cols(c), values(r * c, 0.0) {}
  double& operator()(size_t r, size_t c) { return values[r * cols + c]; }
  double operator()(size_t r, size_t c) const { return values[r * cols + c]; }
};

// Row i lists its neighbours with their types; log_score is 0 where there is none.
struct ReferenceEdge {
  size_t neighbour, type;
  double log_score = 0;
};
using ReferenceRows = std::vector<std::vector<ReferenceEdge>>;

class ReferenceNetwork {
 public:
  ReferenceNetwork(const NetworkOptions& options, const Parameters& parameters) : o(options) {
    for (const Parameter& each : parameters) {
      Table table(each.value.rows(), each.value.cols());
      std::copy(each.value.span().begin(), each.value.span().end(), table.values.begin());
      p[each.name] = table;
    }
  }

  // In training: batch norm uses the batch's own statistics.
  Table forward(const Table& features, const ReferenceRows& graph, double temperature) const {
    Table x = linear(features, "encoder");
    if (o.virtual_nodes > 0) {
      const Table& extra = p.at("virtual_nodes");
      x.values.insert(x.values.end(), extra.values.begin(), extra.values.end());
      x.rows += extra.rows;
    }
    for (size_t i = 0; i < o.pre_layers; ++i) x = dense(x, "pre." + std::to_string(i));
    for (size_t i = 0; i < o.layers; ++i)
      x = layer(x, graph, "layers." + std::to_string(i), temperature);
    x.rows -= o.virtual_nodes;
    for (size_t i = 0; i < o.post_layers; ++i) x = dense(x, "post." + std::to_string(i));
    return linear(x, "head");
  }

  NetworkOptions o;
  std::map<std::string, Table> p;

 private:
  Table linear(const Table& x, const std::string& name) const {
    const Table& w = p.at(name + ".weight");
    auto bias = p.find(name + ".bias");
    Table y(x.rows, w.cols);
    for (size_t r = 0; r < x.rows; ++r)
      for (size_t c = 0; c < w.cols; ++c) {
        y(r, c) = bias == p.end() ? 0.0 : bias->second(0, c);
        for (size_t k = 0; k < w.rows; ++k) y(r, c) += x(r, k) * w(k, c);
      }
    return y;
  }

  static void relu(Table& x) {
    for (double& value : x.values) value = std::max(value, 0.0);
  }

  static void scale_rows(Table& x, double length) {
    for (size_t r = 0; r < x.rows; ++r) {
      double squares = 0;
      for (size_t c = 0; c < x.cols; ++c) squares += x(r, c) * x(r, c);
      for (size_t c = 0; c < x.cols; ++c) x(r, c) *= length / std::max(std::sqrt(squares), 1e-12);
    }
  }

  // Layer norm is over a row; batch and graph norm over a column.
  Table norm(const Table& x, const std::string& name, Norm kind) const {
    Table y = x;
    bool by_row = kind == Norm::layer;
    size_t groups = by_row ? x.rows : x.cols, count = by_row ? x.cols : x.rows;
    for (size_t g = 0; g < groups; ++g) {
      auto at = [&](size_t i) -> double& { return by_row ? y(g, i) : y(i, g); };
      double mean = 0, squares = 0;
      for (size_t i = 0; i < count; ++i) mean += at(i) / static_cast<double>(count);
      double shift = kind == Norm::graph ? p.at(name + ".alpha")(0, g) * mean : mean;
      for (size_t i = 0; i < count; ++i) at(i) -= shift;
      for (size_t i = 0; i < count; ++i) squares += at(i) * at(i) / static_cast<double>(count);
      for (size_t i = 0; i < count; ++i) at(i) /= std::sqrt(squares + 1e-5);
    }
    for (size_t r = 0; r < x.rows; ++r)
      for (size_t c = 0; c < x.cols; ++c)
        y(r, c) = y(r, c) * p.at(name + ".gain")(0, c) + p.at(name + ".bias")(0, c);
    return y;
  }

  Table dense(const Table& x, const std::string& name) const {
    Table y = norm(linear(x, name + ".linear"), name + ".norm", Norm::batch);
    relu(y);
    scale_rows(y, 1.0);
    return y;
  }

  Table attention(const Table& x, const ReferenceRows& graph, const std::string& name,
                  double temperature) const {
    Table q = linear(x, name + ".q"), k = linear(x, name + ".k"), v = linear(x, name + ".v");
    if (o.normalize_values) scale_rows(v, p.at(name + ".value_scale")(0, 0));
    Table e = linear(p.at("edge_types"), name + ".modulation");
    Table b = o.type_bias ? linear(p.at("edge_types"), name + ".type_bias")
                          : Table(o.edge_types, o.heads);
    Table out(graph.size(), o.width);
    size_t head_width = o.width / o.heads;
    for (size_t i = 0; i < graph.size(); ++i)
      for (size_t h = 0; h < o.heads; ++h) {
        std::vector<double> weights;
        double sum = 1e-6;
        for (const ReferenceEdge& edge : graph[i]) {
          double score = 0;
          for (size_t d = h * head_width; d < (h + 1) * head_width; ++d)
            score += modulation(e, edge.type, d) * q(i, d) * k(edge.neighbour, d);
          if (o.scale_by_width) score /= std::sqrt(static_cast<double>(head_width));
          score += b(edge.type, h);
          if (o.log_scores) score += p.at(name + ".log_score_weight")(0, h) * edge.log_score;
          weights.push_back(
              std::exp(std::clamp(score / temperature, -double{o.clamp}, double{o.clamp})));
          sum += weights.back();
        }
        for (size_t n = 0; n < weights.size(); ++n)
          for (size_t d = h * head_width; d < (h + 1) * head_width; ++d)
            out(i, d) += weights[n] / sum * v(graph[i][n].neighbour, d);
      }
    return out;
  }

  double modulation(const Table& e, size_t type, size_t d) const {
    if (o.modulation == Modulation::elementwise) return e(type, d);
    double sum = 0;
    for (size_t c = 0; c < e.cols; ++c) sum += e(type, c);
    return sum;
  }

  Table layer(const Table& x, const ReferenceRows& graph, const std::string& name,
              double temperature) const {
    Table y = attention(x, graph, name, temperature);
    for (size_t i = 0; i < y.values.size(); ++i) y.values[i] += x.values[i];
    y = norm(y, name + ".norm1", o.norm);
    Table hidden = linear(y, name + ".up");
    relu(hidden);
    Table out = linear(hidden, name + ".down");
    for (size_t i = 0; i < y.values.size(); ++i) out.values[i] += y.values[i];
    return norm(out, name + ".norm2", o.norm);
  }
};

}  // namespace spex::testing_support
