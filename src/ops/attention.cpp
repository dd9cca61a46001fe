// Calls the kernels (attention_kernels.h) on padded rows (attention_rows.h) in fixed blocks, and
// hands the gradients back. N rows, H heads, D head width, W = H D.
#include <spex/core/error.h>
#include <spex/core/threads.h>
#include <spex/ops/attention.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "ops/attention_kernels.h"
#include "ops/attention_rows.h"

namespace spex {
namespace {

constexpr size_t kBlockRows = 128;

// Modulation and bias as the kernels want them: padded, with the scale and the temperature inside.
struct Coefficients {
  Matrix mod, bias, value_weight;
  float mod_factor, bias_factor;
};

Coefficients make_coefficients(const AttentionInputs& in, size_t types, size_t width,
                               const AttentionOptions& options, size_t padded) {
  size_t heads = options.heads;
  Coefficients c;
  c.bias_factor = 1.0F / options.temperature;
  c.mod_factor = score_factor(options, width);
  c.mod = Matrix::zeros(types, heads * padded, MemoryTag::activations);
  c.bias = Matrix::zeros(types, heads, MemoryTag::activations);
  c.value_weight = Matrix::zeros(1, heads, MemoryTag::activations);
  for (size_t t = 0; t < types; ++t)
    for (size_t h = 0; h < heads; ++h) {
      for (size_t d = 0; d < width; ++d)
        c.mod(t, h * padded + d) =
            c.mod_factor * (in.modulation ? in.modulation.value()(t, h * width + d) : 1.0F);
      if (in.bias) c.bias(t, h) = c.bias_factor * in.bias.value()(t, h);
    }
  if (in.log_score_weight)
    for (size_t h = 0; h < heads; ++h)
      c.value_weight(0, h) = c.bias_factor * in.log_score_weight.value()(0, h);
  return c;
}

// All that the two directions share. Patterns are views of the caller's graph.
struct Call {
  PatternView rows;  // neighbours of queries
  size_t sources = 0;
  size_t heads = 1, width = 0, padded = 0;
  bool eights = false, folded = false;  // see AttentionView
  bool joined = false;                  // see AttentionInputs
  AttentionOptions options;
  bool packed() const { return eights && heads == 1; }
  size_t query_vectors() const { return folded ? rows.types : heads; }
  ConstMatrixView keys(ConstMatrixView k) const { return joined ? k.columns(0, heads * width) : k; }
  ConstMatrixView values(ConstMatrixView k, ConstMatrixView v) const {
    return joined ? k.columns(heads * width, heads * width) : folded ? k : v;
  }

  AttentionView view(const PatternView& pattern, const TableView& table,
                     const Coefficients& c) const {
    constexpr size_t kCacheBytes = size_t{1} << 20;
    bool prefetch = sources * 2 * heads * padded * sizeof(float) > kCacheBytes;
    return {pattern,       table,         heads,
            padded,        eights,        prefetch,
            c.mod.data(),  c.bias.data(), c.value_weight.data(),
            options.clamp, folded};
  }
};

PatternView view_of(const AttentionGraph& graph) {
  PatternView view;
  view.rows = view.nodes = graph.nodes();
  view.types = graph.types;
  view.neighbours = graph.neighbours.data();
  view.edges = graph.edges();
  view.offsets = graph.offsets.data();
  view.ends = graph.segment_ends.data();
  return view;
}

PatternView view_of(const NeighbourMatrix& pattern, bool with_log_score) {
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
  if (with_log_score) view.values = pattern.log_score.data();
  return view;
}

PatternView view_of(const TransposedNeighbours& transposed, size_t sources, size_t types) {
  PatternView view;
  view.rows = view.nodes = sources;
  view.types = types;
  view.neighbours = transposed.queries.data();
  view.edges = transposed.queries.size();
  view.offsets = transposed.offsets.data();
  view.ends = transposed.segment_ends.data();
  if (!transposed.log_score.empty()) view.values = transposed.log_score.data();
  return view;
}

Call make_call(const AttentionInputs& in, const PatternView& rows, size_t sources,
               const AttentionOptions& options) {
  bool folded = !in.v && !in.joined;
  const Var& values = in.v ? in.v : in.k;
  size_t width = in.joined ? in.k.cols() / 2 : in.k.cols();
  require(options.heads > 0 && width % options.heads == 0 && (!folded || options.heads == 1),
          "attention: {} heads do not divide a width of {}{}", options.heads, width,
          folded ? ", or the keys are folded, which is for one head" : "");
  require(!in.joined || (!in.v && takes_joined(width, options.heads)),
          "attention: keys and values of {} heads and a width of {} cannot be joined",
          options.heads, width);
  require(in.q.cols() == width * (folded ? rows.types : 1) && values.cols() == in.k.cols(),
          "attention: queries of width {}, keys of {}, values of {}", in.q.cols(), width,
          values.cols());
  require(in.q.rows() >= rows.rows && in.k.rows() == sources && values.rows() == sources,
          "attention: {} queries, {} keys, {} values for a pattern of {} x {}", in.q.rows(),
          in.k.rows(), values.rows(), rows.rows, sources);
  require(
      rows.types <= kMaxEdgeTypes && rows.rows <= sources,
      "attention: {} edge types and {} queries for {} keys; at most {} types are supported, and "
      "queries are keys too",
      rows.types, rows.rows, sources, kMaxEdgeTypes);
  require(!folded || !in.modulation, "attention: folded queries are modulated already");
  require(!in.modulation || (in.modulation.rows() == rows.types && in.modulation.cols() == width),
          "attention: a modulation of {} x {} for {} edge types and width {}", in.modulation.rows(),
          in.modulation.cols(), rows.types, width);
  require(!in.bias || (in.bias.rows() == rows.types && in.bias.cols() == options.heads),
          "attention: a bias of {} x {} for {} edge types and {} heads", in.bias.rows(),
          in.bias.cols(), rows.types, options.heads);
  require(options.temperature > 0 && options.clamp > 0 && options.clamp <= 80,
          "attention: temperature {} and clamp {} must be above 0 (clamp at most 80)",
          options.temperature, options.clamp);
  Call call;
  call.rows = rows;
  call.sources = sources;
  call.heads = options.heads;
  call.width = width / options.heads;
  call.folded = folded;
  call.joined = in.joined;
  call.eights = !folded && (call.heads == 1 ? call.width <= 8 : call.width == 8) && !rows.values &&
                (call.heads <= 2 || call.heads == 4 || call.heads == 8) &&
                sources <= std::numeric_limits<int32_t>::max() / call.heads;
  call.padded = padded_width(call.width, call.packed());
  call.options = options;
  require(call.heads * call.padded <= kMaxAttentionWidth && call.heads <= kMaxAttentionHeads,
          "attention: at most {} heads and a width of {} are supported", kMaxAttentionHeads,
          kMaxAttentionWidth);
  return call;
}

// What backward needs besides the inputs' values.
struct Kept {
  std::shared_ptr<const Value> q, k, v, out;
  AttentionInputs in;  // modulation and bias: values and gradients; q, k, v: gradients
  Matrix inverse_sum;  // queries x H

  ConstMatrixView keys(const Call& call) const { return call.keys(k->view()); }
  ConstMatrixView values(const Call& call) const {
    return call.values(k->view(), v ? v->view() : ConstMatrixView{});
  }
};

// g = do / S, delta = g . o, per query and head; g padded.
struct Upstream {
  Matrix g, delta;
};

// Where nothing is padded, g takes the place of do.
Upstream make_upstream(const Call& call, Matrix dout, ConstMatrixView out, const Matrix& inverse) {
  size_t n = dout.rows();
  bool in_place = call.padded == call.width;
  Upstream up{
      in_place ? Matrix() : Matrix::zeros(n, call.heads * call.padded, MemoryTag::gradients),
      Matrix(n, call.heads, MemoryTag::gradients)};
  MatrixView g = in_place ? dout.view() : up.g.view();
  parallel_for(n, 1024, [&](size_t begin, size_t end) {
    for (size_t r = begin; r < end; ++r)
      for (size_t h = 0; h < call.heads; ++h) {
        float delta = 0.0F;
        for (size_t d = 0; d < call.width; ++d) {
          float value = dout(r, h * call.width + d) * inverse(r, h);
          g(r, h * call.padded + d) = value;
          delta += value * out(r, h * call.width + d);
        }
        up.delta(r, h) = delta;
      }
  });
  if (in_place) up.g = std::move(dout);
  return up;
}

// Sums of the parameters' gradients, block by block, then over the blocks in order.
struct ParameterGradients {
  size_t types, width, heads;
  Matrix parts;  // blocks x (types * W + types * H + H)

  ParameterGradients(const Call& call, size_t blocks)
      : types(call.rows.types),
        width(call.heads * call.padded),
        heads(call.heads),
        parts(Matrix::zeros(blocks, types * (width + heads) + heads, MemoryTag::gradients)) {}

  void attach(AttentionBackward& c, size_t block) {
    c.dmod = parts.view().row(block);
    c.dbias = c.dmod + types * width;
    c.dweight = c.view.pattern.values ? c.dbias + types * heads : nullptr;
  }

  void add_to(const Call& call, const AttentionInputs& in, const Coefficients& c) const {
    std::vector<double> sums(parts.cols(), 0.0);
    for (size_t b = 0; b < parts.rows(); ++b)
      for (size_t i = 0; i < sums.size(); ++i) sums[i] += parts(b, i);
    if (const auto& gradient = in.modulation.gradient()) {
      MatrixView out = gradient->accumulator(types, heads * call.width);
      for (size_t t = 0; t < types; ++t)
        for (size_t i = 0; i < out.cols; ++i)
          out(t, i) += static_cast<float>(
              c.mod_factor * sums[t * width + i / call.width * call.padded + i % call.width]);
    }
    if (const auto& gradient = in.bias.gradient()) {
      MatrixView out = gradient->accumulator(types, heads);
      for (size_t i = 0; i < types * heads; ++i)
        out.data[i] += static_cast<float>(c.bias_factor * sums[types * width + i]);
    }
    if (const auto& gradient = in.log_score_weight.gradient()) {
      MatrixView out = gradient->accumulator(1, heads);
      for (size_t h = 0; h < heads; ++h)
        out.data[h] += static_cast<float>(c.bias_factor * sums[types * (width + heads) + h]);
    }
  }
};

Matrix query_gradients(const Call& call, const Kept& kept, const Upstream& up,
                       const Coefficients& c) {
  size_t n = call.rows.rows;
  Table table(kept.keys(call), kept.values(call), call.heads, call.padded, call.packed());
  PaddedRows q(kept.q->view(), call.query_vectors(), call.padded);
  Matrix dq(kept.q->view().rows, call.query_vectors() * call.padded, MemoryTag::gradients);
  if (dq.rows() > n) fill(dq.view().block(n, dq.rows() - n), 0.0F);
  ParameterGradients parameters(call, (n + kBlockRows - 1) / kBlockRows);
  parallel_for(n, kBlockRows, [&](size_t begin, size_t end) {
    AttentionBackward b;
    b.view = call.view(call.rows, table.view(), c);
    b.x_stride = dq.cols();
    b.y_stride = up.g.cols();
    b.row_x = q.data();
    b.row_y = up.g.data();
    b.delta = up.delta.data();
    b.dx = dq.data();
    parameters.attach(b, begin / kBlockRows);
    SPEX_CALL(attention_backward, b, begin, end);
  });
  parameters.add_to(call, kept.in, c);
  return unpadded(std::move(dq), call.query_vectors(), call.width, MemoryTag::gradients);
}

void key_gradients(const Call& call, const PatternView& transposed, const Kept& kept,
                   const Upstream& up, const Coefficients& c) {
  ConstMatrixView g = up.g.view();
  PaddedRows q(kept.q->view(), call.query_vectors(), call.padded);
  Table table;
  TableView rows{q.data(), g.data, g.cols, call.query_vectors() * call.padded, call.padded};
  if (!call.folded) {
    ConstMatrixView q_rows{q.data(), g.rows, g.cols, g.cols};
    table = Table(q_rows, g, call.heads, call.padded, call.packed());
    rows = table.view();
  }
  PaddedRows k, v;
  size_t width = call.heads * call.padded;
  Matrix dk(call.sources, call.joined ? 2 * width : width, MemoryTag::gradients), dv;
  if (!call.joined) k = PaddedRows(kept.keys(call), call.heads, call.padded);
  if (!call.joined && !call.folded) {
    v = PaddedRows(kept.values(call), call.heads, call.padded);
    dv = Matrix(call.sources, width, MemoryTag::gradients);
  }
  parallel_for(call.sources, kBlockRows, [&](size_t begin, size_t end) {
    AttentionBackward b;
    b.view = call.view(transposed, rows, c);
    b.key_side = true;
    b.x_stride = b.y_stride = dk.cols();
    b.row_x = call.joined ? kept.keys(call).data : k.data();
    b.row_y = call.joined ? kept.values(call).data : v.data();
    b.delta = up.delta.data();
    b.dx = dk.data();
    b.dy = call.joined ? dk.data() + width : dv.data();
    SPEX_CALL(attention_backward, b, begin, end);
  });
  if (const auto& gradient = kept.in.k.gradient())
    gradient->give(call.joined
                       ? std::move(dk)
                       : unpadded(std::move(dk), call.heads, call.width, MemoryTag::gradients));
  if (const auto& gradient = kept.in.v.gradient())
    gradient->give(unpadded(std::move(dv), call.heads, call.width, MemoryTag::gradients));
}

template <class TransposedView>
Var attention(Tape& tape, const AttentionInputs& in, const Call& call,
              TransposedView&& transposed_view) {
  size_t n = call.rows.rows;
  Coefficients c = make_coefficients(in, call.rows.types, call.width, call.options, call.padded);
  Matrix out(n, call.heads * call.padded, MemoryTag::activations);
  Matrix inverse(n, call.heads, MemoryTag::activations);
  {
    Table table(call.keys(in.k.value()), call.values(in.k.value(), in.v.value()), call.heads,
                call.padded, call.packed());
    PaddedRows q(in.q.value(), call.query_vectors(), call.padded);
    AttentionForward forward{call.view(call.rows, table.view(), c), q.data(), out.data(),
                             inverse.data()};
    parallel_for(n, kBlockRows, [&](size_t begin, size_t end) {
      SPEX_CALL(attention_forward, forward, begin, end);
    });
  }
  auto value =
      Tape::share(unpadded(std::move(out), call.heads, call.width, MemoryTag::activations));
  // Kept for backward: q, k, v, the output and one normaliser per query and head.
  auto kept = std::make_shared<Kept>();
  kept->q = in.q.keep();
  kept->k = in.k.keep();
  kept->v = in.v.keep();
  kept->out = value;
  kept->in = in;
  kept->inverse_sum = std::move(inverse);
  return tape.result_owning(
      std::move(value), {in.q, in.k, in.v, in.modulation, in.bias, in.log_score_weight},
      [call, kept, transposed_view](Matrix dout) {
        Coefficients c =
            make_coefficients(kept->in, call.rows.types, call.width, call.options, call.padded);
        Upstream up = make_upstream(call, std::move(dout), kept->out->view(), kept->inverse_sum);
        kept->out.reset();
        Matrix dq = query_gradients(call, *kept, up, c);
        if (const auto& gradient = kept->in.q.gradient()) gradient->give(std::move(dq));
        key_gradients(call, transposed_view(), *kept, up, c);
      });
}

// Calls write(first edge, scores of those rows) for blocks of rows, in parallel.
template <class Write>
void for_score_blocks(const AttentionInputs& in, const AttentionGraph& graph,
                      const AttentionOptions& options, Write&& write) {
  Call call = make_call(in, view_of(graph), graph.nodes(), options);
  Coefficients c = make_coefficients(in, call.rows.types, call.width, options, call.padded);
  Table table(call.keys(in.k.value()), call.values(in.k.value(), in.v.value()), call.heads,
              call.padded, call.packed());
  PaddedRows q(in.q.value(), call.heads, call.padded);
  parallel_for(graph.nodes(), kBlockRows, [&](size_t begin, size_t end) {
    EdgeOffset first = graph.offsets[begin];
    size_t edges = graph.offsets[end] - first;
    if (edges == 0) return;
    Buffer<float> scores(edges * call.heads, MemoryTag::scores);
    AttentionScores s{call.view(call.rows, table.view(), c), q.data(), scores.data(), first};
    SPEX_CALL(attention_scores, s, begin, end);
    write(first, std::as_const(scores).span());
  });
}

}  // namespace

bool takes_joined(size_t width, size_t heads) {
  size_t head = width / heads;
  return head % 8 == 0 && width > 8;
}

float score_factor(const AttentionOptions& options, size_t width) {
  float scale = options.scale_by_width ? std::sqrt(static_cast<float>(width)) : 1.0F;
  return 1.0F / (options.temperature * scale);
}

Var sparse_attention(Tape& tape, const AttentionInputs& in, const AttentionGraph& graph,
                     const AttentionGraph& transposed, const AttentionOptions& options) {
  require(in.v || in.joined, "attention over all edges needs values");
  require(transposed.nodes() == graph.nodes() && transposed.edges() == graph.edges(),
          "attention: the transposed graph has {} edges, the graph {}", transposed.edges(),
          graph.edges());
  Call call = make_call(in, view_of(graph), graph.nodes(), options);
  return attention(tape, in, call, [view = view_of(transposed)] { return view; });
}

Var sparse_attention(Tape& tape, const AttentionInputs& in, const AttentionGraph& graph,
                     const ChosenRows& chosen, const AttentionOptions& options) {
  require(in.v || in.joined, "attention over all edges needs values");
  require(chosen.transposed.nodes() == graph.nodes(),
          "attention: rows chosen of a graph of {} nodes, the graph has {}",
          chosen.transposed.nodes(), graph.nodes());
  PatternView rows = view_of(graph);
  rows.rows = chosen.nodes.size();
  rows.chosen = chosen.nodes.data();
  Call call = make_call(in, rows, graph.nodes(), options);
  return attention(tape, in, call, [view = view_of(chosen.transposed)] { return view; });
}

Var regular_attention(Tape& tape, const AttentionInputs& in, const NeighbourMatrix& pattern,
                      const AttentionOptions& options) {
  bool weighted = static_cast<bool>(in.log_score_weight);
  require(!weighted || !pattern.log_score.empty(), "attention: the pattern carries no log-scores");
  Call call = make_call(in, view_of(pattern, weighted), pattern.sources, options);
  auto transposed = std::make_shared<TransposedNeighbours>();
  return attention(tape, in, call, [transposed, &pattern] {
    *transposed = transpose(pattern);
    return view_of(*transposed, pattern.sources, pattern.types);
  });
}

void sparse_attention_scores(std::span<float> scores, const AttentionInputs& in,
                             const AttentionGraph& graph, const AttentionOptions& options) {
  require(scores.size() == graph.edges() * options.heads,
          "attention: {} places for the scores of {} edges", scores.size(), graph.edges());
  for_score_blocks(in, graph, options, [&](EdgeOffset first, std::span<const float> part) {
    std::copy(part.begin(), part.end(),
              scores.begin() + static_cast<ptrdiff_t>(first * options.heads));
  });
}

void sparse_attention_scores(std::span<Half> scores, const AttentionInputs& in,
                             const AttentionGraph& graph, const AttentionOptions& options) {
  require(scores.size() == graph.edges() * options.heads,
          "attention: {} places for the scores of {} edges", scores.size(), graph.edges());
  for_score_blocks(in, graph, options, [&](EdgeOffset first, std::span<const float> part) {
    to_half(scores.subspan(first * options.heads, part.size()), part);
  });
}

}  // namespace spex
