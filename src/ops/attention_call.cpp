#include "ops/attention_call.h"

#include <spex/core/error.h>

#include <cmath>

namespace spex {
namespace {

void check_values(const AttentionInputs& in, const AttentionShape& shape, const PatternView& rows,
                  size_t sources) {
  const Var& values = in.v ? in.v : in.k;
  require(shape.heads > 0 && shape.width % shape.heads == 0 && (!shape.folded || shape.heads == 1),
          "attention: {} heads do not divide a width of {}{}", shape.heads, shape.width,
          shape.folded ? ", or the keys are folded, which is for one head" : "");
  require(!in.joined || (!in.v && takes_joined(shape.width, shape.heads)),
          "attention: keys and values of {} heads and a width of {} cannot be joined", shape.heads,
          shape.width);
  require(
      in.q.cols() == shape.width * (shape.folded ? rows.types : 1) && values.cols() == in.k.cols(),
      "attention: queries of width {}, keys of {}, values of {}", in.q.cols(), shape.width,
      values.cols());
  require(in.q.rows() >= rows.rows && in.k.rows() == sources && values.rows() == sources,
          "attention: {} queries, {} keys, {} values for a pattern of {} x {}", in.q.rows(),
          in.k.rows(), values.rows(), rows.rows, sources);
}

void check_coefficients(const AttentionInputs& in, const AttentionShape& shape,
                        const PatternView& rows, const AttentionOptions& options) {
  require(!shape.folded || !in.modulation, "attention: folded queries are modulated already");
  require(
      !in.modulation || (in.modulation.rows() == rows.types && in.modulation.cols() == shape.width),
      "attention: a modulation of {} x {} for {} edge types and width {}", in.modulation.rows(),
      in.modulation.cols(), rows.types, shape.width);
  require(!in.bias || (in.bias.rows() == rows.types && in.bias.cols() == options.heads),
          "attention: a bias of {} x {} for {} edge types and {} heads", in.bias.rows(),
          in.bias.cols(), rows.types, options.heads);
  require(!rows.features || (in.edge_modulation.rows() == rows.feature_count &&
                             in.edge_modulation.cols() == shape.width && !shape.folded),
          "attention: an edge modulation of {} x {} for {} edge features and {} width {}",
          in.edge_modulation.rows(), in.edge_modulation.cols(), rows.feature_count,
          shape.folded ? "folded queries of" : "a", shape.width);
  require(!in.edge_bias ||
              (in.edge_bias.rows() == rows.feature_count && in.edge_bias.cols() == options.heads),
          "attention: an edge bias of {} x {} for {} edge features and {} heads",
          in.edge_bias.rows(), in.edge_bias.cols(), rows.feature_count, options.heads);
  require(options.temperature > 0 && options.clamp > 0 && options.clamp <= 80,
          "attention: temperature {} and clamp {} must be above 0 (clamp at most 80)",
          options.temperature, options.clamp);
}

void check_feature_count(size_t count) {
  require(count > 0 && count <= kMaxEdgeFeatures,
          "attention: the edges have {} features; 1 to {} can be used", count, kMaxEdgeFeatures);
}

}  // namespace

float score_factor(const AttentionOptions& options, size_t width) {
  float scale = options.scale_by_width ? std::sqrt(static_cast<float>(width)) : 1.0F;
  return 1.0F / (options.temperature * scale);
}

ConstMatrixView AttentionCall::keys(ConstMatrixView k) const {
  return joined ? k.columns(0, layout.heads * layout.width) : k;
}

ConstMatrixView AttentionCall::values(ConstMatrixView k, ConstMatrixView v) const {
  size_t width = layout.heads * layout.width;
  return joined ? k.columns(width, width) : layout.kind == LayoutKind::folded ? k : v;
}

AttentionCall make_call(const AttentionInputs& in, const PatternView& rows, size_t sources,
                        const AttentionOptions& options) {
  AttentionShape shape;
  shape.width = in.joined ? in.k.cols() / 2 : in.k.cols();
  shape.heads = options.heads;
  shape.types = rows.types;
  shape.keys = sources;
  shape.folded = !in.v && !in.joined;
  shape.weighs_edges = rows.values != nullptr;
  check_values(in, shape, rows, sources);
  check_coefficients(in, shape, rows, options);
  require(
      rows.types <= kMaxEdgeTypes && rows.rows <= sources,
      "attention: {} edge types and {} queries for {} keys; at most {} types are supported, and "
      "queries are keys too",
      rows.types, rows.rows, sources, kMaxEdgeTypes);
  AttentionCall call{rows, sources, choose_layout(shape), in.joined, options};
  require(call.layout.row() <= kMaxAttentionWidth && shape.heads <= kMaxAttentionHeads,
          "attention: at most {} heads and a width of {} are supported", kMaxAttentionHeads,
          kMaxAttentionWidth);
  return call;
}

PatternView view_of(const AttentionGraph& graph, const AttentionInputs& in) {
  PatternView view;
  view.rows = view.nodes = graph.nodes();
  view.types = graph.types;
  view.neighbours = graph.neighbours.data();
  view.edges = graph.edges();
  view.offsets = graph.offsets.data();
  view.ends = graph.segment_ends.data();
  if (in.edge_modulation) {
    check_feature_count(graph.features.count);
    view.features = graph.features.values.data();
    view.feature_count = graph.features.count;
    view.feature_rows = graph.features.rows.data();
  }
  return view;
}

PatternView view_of(const NeighbourMatrix& pattern, const AttentionInputs& in) {
  PatternView view;
  view.rows = view.nodes = pattern.queries;
  view.types = pattern.types;
  view.neighbours = pattern.indices.data();
  view.k = pattern.k;
  view.counts = pattern.ends.data();
  // Only real entries may be read ahead: rows that are not full have garbage behind their count.
  bool full = true;
  for (size_t i = 0; full && i < pattern.queries; ++i) full = pattern.count(i) == pattern.k;
  view.edges = full ? pattern.queries * pattern.k : 0;
  if (in.log_score_weight) view.values = pattern.log_score.data();
  if (in.edge_modulation) {
    check_feature_count(pattern.feature_count);
    view.features = pattern.features.data();
    view.feature_count = pattern.feature_count;
  }
  return view;
}

PatternView view_of(const TransposedNeighbours& transposed, size_t sources,
                    const PatternView& forward) {
  PatternView view;
  view.rows = view.nodes = sources;
  view.types = forward.types;
  view.neighbours = transposed.queries.data();
  view.edges = transposed.queries.size();
  view.offsets = transposed.offsets.data();
  view.ends = transposed.segment_ends.data();
  if (forward.values) view.values = transposed.log_score.data();
  if (forward.features) view.features = transposed.features.data();
  view.feature_count = forward.feature_count;
  return view;
}

AttentionCoefficients::AttentionCoefficients(const AttentionInputs& in, const AttentionCall& call)
    : mod(Matrix::zeros(call.rows.types, call.layout.row(), MemoryTag::activations)),
      bias(Matrix::zeros(call.rows.types, call.layout.heads, MemoryTag::activations)),
      value_weight(Matrix::zeros(1, call.layout.heads, MemoryTag::activations)),
      edge_mod(Matrix::zeros(call.rows.feature_count, call.layout.row(), MemoryTag::activations)),
      edge_bias(Matrix::zeros(call.layout.heads, padded_features(call.rows.feature_count),
                              MemoryTag::activations)),
      mod_factor(score_factor(call.options, call.layout.width)),
      bias_factor(1.0F / call.options.temperature) {
  auto [kind, heads, width, padded, vectors] = call.layout;
  for (size_t t = 0; t < call.rows.types; ++t)
    for (size_t h = 0; h < heads; ++h) {
      for (size_t d = 0; d < width; ++d)
        mod(t, h * padded + d) =
            mod_factor * (in.modulation ? in.modulation.value()(t, h * width + d) : 1.0F);
      if (in.bias) bias(t, h) = bias_factor * in.bias.value()(t, h);
    }
  if (in.log_score_weight)
    for (size_t h = 0; h < heads; ++h)
      value_weight(0, h) = bias_factor * in.log_score_weight.value()(0, h);
  for (size_t f = 0; f < call.rows.feature_count; ++f)
    for (size_t h = 0; h < heads; ++h) {
      for (size_t d = 0; d < width; ++d)
        edge_mod(f, h * padded + d) = mod_factor * in.edge_modulation.value()(f, h * width + d);
      if (in.edge_bias) edge_bias(h, f) = bias_factor * in.edge_bias.value()(f, h);
    }
}

AttentionView kernel_view(const AttentionCall& call, const PatternView& pattern,
                          const TableView& table, const AttentionCoefficients& c) {
  constexpr size_t kCacheBytes = size_t{1} << 20;
  AttentionView view;
  view.pattern = pattern;
  view.table = table;
  view.layout = call.layout.kind;
  view.heads = call.layout.heads;
  view.width = call.layout.padded;
  view.prefetch = call.sources * 2 * call.layout.row() * sizeof(float) > kCacheBytes;
  view.mod = c.mod.data();
  view.bias = c.bias.data();
  view.value_weight = c.value_weight.data();
  view.edge_mod = c.edge_mod.data();
  view.edge_bias = c.edge_bias.data();
  view.clamp = call.options.clamp;
  return view;
}

}  // namespace spex
