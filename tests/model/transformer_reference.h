// The whole network in double precision, straight from its formulas: no tape, no kernels, no
// tricks. What src/model and src/ops compute must agree with it.
#pragma once

#include <spex/model/transformer.h>

#include "model/model_check.h"

namespace spex::testing_support {

class ReferenceTransformer : public ReferenceModel {
 public:
  ReferenceTransformer(const TransformerOptions& options, const ReferenceModel& parameters)
      : ReferenceModel(parameters), o(options) {}

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

  Table attention(const Table& x, const ReferenceRows& graph, const std::string& name,
                  double temperature) const {
    Table q = linear(x, name + ".q"), k = linear(x, name + ".k"), v = linear(x, name + ".v");
    if (o.normalize_values) scale_rows(v, p.at(name + ".value_scale")(0, 0));
    Table e = linear(p.at("edge_types"), name + ".modulation");
    Table edge_e, edge_b;
    if (p.contains("edge_encoder")) {
      edge_e = product(p.at("edge_encoder"), p.at(name + ".modulation.weight"));
      edge_b = o.type_bias ? product(p.at("edge_encoder"), p.at(name + ".type_bias.weight"))
                           : Table(edge_e.rows, o.heads);
    }
    Table b = o.type_bias ? linear(p.at("edge_types"), name + ".type_bias")
                          : Table(p.at("edge_types").rows, o.heads);
    Table out(graph.size(), o.width);
    size_t head_width = o.width / o.heads;
    for (size_t i = 0; i < graph.size(); ++i)
      for (size_t h = 0; h < o.heads; ++h) {
        std::vector<double> weights;
        double sum = 1e-6;
        for (const ReferenceEdge& edge : graph[i]) {
          double score = 0;
          for (size_t d = h * head_width; d < (h + 1) * head_width; ++d)
            score += edge_modulation(e, edge_e, edge, d) * q(i, d) * k(edge.neighbour, d);
          if (o.scale_by_width) score /= std::sqrt(static_cast<double>(head_width));
          score += b(edge.type, h);
          for (size_t f = 0; f < edge.features.size(); ++f)
            score += edge.features[f] * edge_b(f, h);
          if (edge.type == static_cast<size_t>(EdgeType::expander)) score += o.expander_bias;
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

  static Table product(const Table& a, const Table& b) {
    Table y(a.rows, b.cols);
    for (size_t r = 0; r < a.rows; ++r)
      for (size_t c = 0; c < b.cols; ++c)
        for (size_t k = 0; k < a.cols; ++k) y(r, c) += a(r, k) * b(k, c);
    return y;
  }

  double edge_modulation(const Table& types, const Table& features, const ReferenceEdge& edge,
                         size_t d) const {
    double sum = modulation(types, edge.type, d);
    for (size_t f = 0; f < edge.features.size(); ++f)
      sum += edge.features[f] * modulation(features, f, d);
    return sum;
  }

  TransformerOptions o;

 private:
  static void scale_rows(Table& x, double length) {
    for (size_t r = 0; r < x.rows; ++r) {
      double squares = 0;
      for (size_t c = 0; c < x.cols; ++c) squares += x(r, c) * x(r, c);
      for (size_t c = 0; c < x.cols; ++c) x(r, c) *= length / std::max(std::sqrt(squares), 1e-12);
    }
  }

  Table dense(const Table& x, const std::string& name) const {
    Table y = relu(norm(linear(x, name + ".linear"), name + ".norm", Norm::batch));
    scale_rows(y, 1.0);
    return y;
  }

  double modulation(const Table& e, size_t type, size_t d) const {
    if (o.modulation == Modulation::elementwise) return e(type, d);
    double sum = 0;
    for (size_t c = 0; c < e.cols; ++c) sum += e(type, c);
    return sum;
  }

  Table layer(const Table& x, const ReferenceRows& graph, const std::string& name,
              double temperature) const {
    Table y = norm(sum(attention(x, graph, name, temperature), x), name + ".norm1", o.norm);
    Table out = linear(relu(linear(y, name + ".up")), name + ".down");
    return norm(sum(out, y), name + ".norm2", o.norm);
  }
};

}  // namespace spex::testing_support
