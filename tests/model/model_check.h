// Checking a model, forward and every gradient, against a plain double-precision program. A test
// writes the model's formula once more, on Tables, and calls expect_model_matches.
#pragma once

#include <gtest/gtest.h>
#include <spex/graph/builder.h>
#include <spex/graph/expander.h>
#include <spex/model/layers.h>
#include <spex/ops/elementwise.h>
#include <spex/ops/losses.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "gradient_check.h"

namespace spex::testing_support {

struct Table {
  size_t rows = 0, cols = 0;
  std::vector<double> values;

  Table() = default;
  Table(size_t r, size_t c) : rows(r), cols(c), values(r * c, 0.0) {}
  double& operator()(size_t r, size_t c) { return values[r * cols + c]; }
  double operator()(size_t r, size_t c) const { return values[r * cols + c]; }
};

// A model's parameters by name, and the parts that models share, in double precision.
struct ReferenceModel {
  std::map<std::string, Table> p;
  std::vector<NodeId> counted = {};  // the rows that batch norm's statistics are of; none: all

  explicit ReferenceModel(const Parameters& parameters) {
    for (const Parameter& each : parameters) {
      Table table(each.value.rows(), each.value.cols());
      std::copy(each.value.span().begin(), each.value.span().end(), table.values.begin());
      p[each.name] = table;
    }
  }

  // x W + b; the bias is left out where there is none.
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

  // Of training: batch norm uses the statistics of these rows.
  Table norm(const Table& x, const std::string& name, Norm kind) const {
    if (kind == Norm::none) return x;
    Table y = x;
    bool by_row = kind == Norm::layer;
    size_t groups = by_row ? x.rows : x.cols, count = by_row ? x.cols : x.rows;
    for (size_t g = 0; g < groups; ++g) {
      auto at = [&](size_t i) -> double& { return by_row ? y(g, i) : y(i, g); };
      auto average = [&](auto&& value) {
        double total = 0;
        bool all = counted.empty() || kind != Norm::batch;
        for (size_t i = 0; all && i < count; ++i) total += value(i);
        for (size_t i = 0; !all && i < counted.size(); ++i) total += value(counted[i]);
        return total / static_cast<double>(all ? count : counted.size());
      };
      double mean = average([&](size_t i) { return at(i); });
      double shift = kind == Norm::graph ? p.at(name + ".alpha")(0, g) * mean : mean;
      for (size_t i = 0; i < count; ++i) at(i) -= shift;
      double squares = average([&](size_t i) { return at(i) * at(i); });
      for (size_t i = 0; i < count; ++i) at(i) /= std::sqrt(squares + 1e-5);
    }
    for (size_t r = 0; r < x.rows; ++r)
      for (size_t c = 0; c < x.cols; ++c)
        y(r, c) = y(r, c) * p.at(name + ".gain")(0, c) + p.at(name + ".bias")(0, c);
    return y;
  }
};

inline Table relu(Table x) {
  for (double& value : x.values) value = std::max(value, 0.0);
  return x;
}

// wa a + wb b
inline Table combination(const Table& a, double wa, const Table& b, double wb) {
  Table y = a;
  for (size_t i = 0; i < y.values.size(); ++i) y.values[i] = wa * y.values[i] + wb * b.values[i];
  return y;
}

inline Table sum(const Table& a, const Table& b) {
  return combination(a, 1.0, b, 1.0);
}

// Number by number; b may be one row, which then serves for all.
inline Table times(const Table& a, const Table& b) {
  Table y = a;
  for (size_t i = 0; i < y.values.size(); ++i) y.values[i] *= b.values[i % b.values.size()];
  return y;
}

inline Table sigmoid(Table x) {
  for (double& value : x.values) value = 1.0 / (1.0 + std::exp(-value));
  return x;
}

// Row i lists its neighbours with their types; log_score is 0 where there is none.
struct ReferenceEdge {
  size_t neighbour, type;
  double log_score = 0;
  std::vector<double> features = {};  // of graph edges, where there are any
};
using ReferenceRows = std::vector<std::vector<ReferenceEdge>>;

inline ReferenceRows rows_of(const AttentionGraph& graph) {
  ReferenceRows rows(graph.nodes());
  for (size_t i = 0; i < graph.nodes(); ++i)
    for (size_t t = 0; t < graph.types; ++t)
      for (EdgeOffset e = graph.segment_begin(t, i); e < graph.segment_end(t, i); ++e)
        rows[i].push_back({graph.neighbours[e], t});
  size_t width = graph.features.count;
  for (size_t i = 0; width > 0 && i < graph.nodes(); ++i)
    for (size_t n = 0; n < graph.segment_end(0, i) - graph.offsets[i]; ++n) {
      const float* x = graph.features.values.data() + (graph.features.rows[i] + n) * width;
      rows[i][n].features.assign(x, x + width);
    }
  return rows;
}

inline ReferenceRows rows_of(const NeighbourMatrix& pattern) {
  ReferenceRows rows(pattern.queries);
  for (size_t i = 0; i < pattern.queries; ++i)
    for (size_t n = 0; n < pattern.count(i); ++n) {
      size_t type = 0;
      while (n >= pattern.ends[type * pattern.queries + i]) ++type;
      double log_score = pattern.log_score.empty() ? 0 : pattern.log_score[i * pattern.k + n];
      rows[i].push_back({pattern.indices[i * pattern.k + n], type, log_score});
      const float* x = pattern.features.data() + (i * pattern.k + n) * pattern.feature_count;
      if (type == 0) rows[i].back().features.assign(x, x + pattern.feature_count);
    }
  return rows;
}

// Ahat x over rows with self-loops in them.
inline Table normalized_sum(const Table& x, const ReferenceRows& rows) {
  Table y(rows.size(), x.cols);
  for (size_t i = 0; i < rows.size(); ++i)
    for (const ReferenceEdge& edge : rows[i])
      for (size_t c = 0; c < x.cols; ++c)
        y(i, c) +=
            x(edge.neighbour, c) / std::sqrt(static_cast<double>(rows[i].size()) *
                                             static_cast<double>(rows[edge.neighbour].size()));
  return y;
}

inline constexpr size_t kNodes = 24;
inline constexpr size_t kInputs = 5;
inline constexpr size_t kClasses = 3;

// A random graph of few edges; with expander_degree 0 and no virtual nodes it is a local graph.
inline AttentionGraph attention_graph(size_t nodes, size_t edges, size_t expander_degree,
                                      size_t virtual_nodes = 0) {
  Random random(3, Purpose::test, 1);
  std::vector<NodeId> sources, targets;
  for (size_t e = 0; e < edges; ++e) {
    sources.push_back(static_cast<NodeId>(random.below(nodes, 2 * e)));
    targets.push_back(static_cast<NodeId>(random.below(nodes, 2 * e + 1)));
  }
  CsrGraph graph = build_csr(nodes, sources, targets).graph;
  AugmentOptions augmentation;
  augmentation.virtual_nodes = virtual_nodes;
  if (expander_degree == 0) return augment(graph, {}, augmentation);
  ExpanderOptions expander;
  expander.degree = expander_degree;
  return augment(graph, make_expander(nodes, expander).graph, augmentation);
}

// Norms start at 1 and 0, some weights at 0; other values show more.
inline void disturb(Parameters& parameters) {
  uint32_t stream = 0;
  for (Parameter& parameter : parameters) {
    Random random(17, Purpose::test, 2, stream++);
    for (size_t i = 0; i < parameter.value.size(); ++i)
      parameter.value.data()[i] += static_cast<float>(0.2 * random.normal(i));
  }
}

struct Example {
  Matrix features = random_matrix(kNodes, kInputs, 4);
  std::vector<int32_t> classes;
  std::vector<NodeId> rows;  // those that count in the loss

  Example() {
    for (size_t i = 0; i < kNodes; ++i) classes.push_back(static_cast<int32_t>(i * i % kClasses));
    for (NodeId i = 0; i < kNodes; i += 2) rows.push_back(i);
  }

  Table table() const {
    Table out(kNodes, kInputs);
    std::copy(features.span().begin(), features.span().end(), out.values.begin());
    return out;
  }

  double loss(const Table& logits) const {
    double sum = 0;
    for (NodeId r : rows) {
      double all = 0;
      for (size_t c = 0; c < kClasses; ++c) all += std::exp(logits(r, c));
      sum += std::log(all) - logits(r, static_cast<size_t>(classes[r]));
    }
    return sum / static_cast<double>(rows.size());
  }
};

// What a test may say besides the formula.
struct ModelCheck {
  Pass pass = {};
  // What the model adds to the loss; empty: it may add what it likes, nobody asks.
  std::function<double(const ReferenceModel&, const Table&)> penalty = {};
  std::string idle = "";  // parameters whose names begin so take no part
};

// The loss of a training pass over all nodes, and the gradient of every entry of every parameter,
// against central differences of the double-precision program. `forward` gives the logits of the
// features (kNodes x kInputs) with the reference's parameters.
inline void expect_model_matches(
    Model& model, const Neighbourhood& neighbourhood,
    const std::function<Table(const ReferenceModel&, const Table&)>& forward,
    const ModelCheck& check = {}) {
  Example example;
  disturb(model.parameters());
  ReferenceModel reference(model.parameters());
  auto reference_loss = [&] {
    double loss = example.loss(forward(reference, example.table()));
    return check.penalty ? loss + check.penalty(reference, example.table()) : loss;
  };

  Tape tape;
  Pass pass = check.pass;
  Var penalty;
  pass.training = true;
  if (check.penalty) pass.penalty = &penalty;
  Var logits = model.forward(tape, {example.features.view(), nullptr}, neighbourhood, pass);
  Var loss = softmax_cross_entropy(tape, logits, example.classes, example.rows);
  if (penalty) loss = add(tape, loss, penalty);
  EXPECT_NEAR(loss.value()(0, 0), reference_loss(), 1e-5);
  model.parameters().zero_gradients();
  tape.backward(loss);

  constexpr double kStep = 1e-5;
  for (const Parameter& parameter : model.parameters()) {
    std::vector<double>& values = reference.p.at(parameter.name).values;
    double largest = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      double before = values[i];
      values[i] = before + kStep;
      double above = reference_loss();
      values[i] = before - kStep;
      double expected = (above - reference_loss()) / (2 * kStep);
      values[i] = before;
      largest = std::max(largest, std::abs(expected));
      ASSERT_NEAR(parameter.gradient.data()[i], expected, 2e-5 + 1e-4 * std::abs(expected))
          << parameter.name << ", entry " << i;
    }
    bool idle = !check.idle.empty() && parameter.name.starts_with(check.idle);
    // Some biases cancel: before batch norm, and those all edges of a softmax share.
    EXPECT_TRUE(idle || largest > 1e-4 || parameter.name.ends_with("bias"))
        << parameter.name << " does not matter to the loss: a check that cannot fail";
  }
}

}  // namespace spex::testing_support
