// The gradients of attention. The formulas stand in attention_kernels.h.
#include <spex/core/threads.h>

#include <vector>

#include "ops/attention_call.h"
#include "ops/attention_rows.h"

namespace spex {
namespace {

// g = do / S, delta = g . o, per query and head; g padded.
struct Upstream {
  Matrix g, delta;
};

// Where nothing is padded, g takes the place of do.
Upstream make_upstream(const AttentionLayout& layout, Matrix dout, ConstMatrixView out,
                       const Matrix& inverse) {
  size_t n = dout.rows(), heads = layout.heads, width = layout.width;
  bool in_place = !layout.is_padded();
  Upstream up{in_place ? Matrix() : Matrix::zeros(n, layout.row(), MemoryTag::gradients),
              Matrix(n, heads, MemoryTag::gradients)};
  MatrixView g = in_place ? dout.view() : up.g.view();
  parallel_for(n, 1024, [&](size_t begin, size_t end) {
    for (size_t r = begin; r < end; ++r)
      for (size_t h = 0; h < heads; ++h) {
        float delta = 0.0F;
        for (size_t d = 0; d < width; ++d) {
          float value = dout(r, h * width + d) * inverse(r, h);
          g(r, h * layout.padded + d) = value;
          delta += value * out(r, h * width + d);
        }
        up.delta(r, h) = delta;
      }
  });
  if (in_place) up.g = std::move(dout);
  return up;
}

// Sums of the parameters' gradients, block by block, then over the blocks in order.
struct ParameterGradients {
  const AttentionLayout layout;
  size_t types, width, heads, features, feature_floats;
  Matrix parts;  // blocks x (types * W + types * H + H + features * W + H * feature_floats)

  ParameterGradients(const AttentionCall& call, size_t blocks)
      : layout(call.layout),
        types(call.rows.types),
        width(layout.row()),
        heads(layout.heads),
        features(call.rows.feature_count),
        feature_floats(padded_features(features)),
        parts(Matrix::zeros(
            blocks, types * (width + heads) + heads + features * width + heads * feature_floats,
            MemoryTag::gradients)) {}

  size_t edge_part() const { return types * (width + heads) + heads; }

  void attach(AttentionBackward& c, size_t block) {
    c.dmod = parts.view().row(block);
    c.dbias = c.dmod + types * width;
    c.dweight = c.view.pattern.values ? c.dbias + types * heads : nullptr;
    c.dedge_mod = c.dmod + edge_part();
    c.dedge_bias = c.dedge_mod + features * width;
  }

  void add_to(const AttentionInputs& in, const AttentionCoefficients& c) const {
    std::vector<double> sums(parts.cols(), 0.0);
    for (size_t b = 0; b < parts.rows(); ++b)
      for (size_t i = 0; i < sums.size(); ++i) sums[i] += parts(b, i);
    add_modulation(in.modulation, types, sums.data(), c.mod_factor);
    add_modulation(in.edge_modulation, features, sums.data() + edge_part(), c.mod_factor);
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
    if (const auto& gradient = in.edge_bias.gradient()) {
      MatrixView out = gradient->accumulator(features, heads);
      const double* part = sums.data() + edge_part() + features * width;
      for (size_t f = 0; f < features; ++f)
        for (size_t h = 0; h < heads; ++h)
          out(f, h) += static_cast<float>(c.bias_factor * part[h * feature_floats + f]);
    }
  }

  // `sums` are those of padded rows.
  void add_modulation(const Var& to, size_t rows, const double* sums, float factor) const {
    const auto& gradient = to.gradient();
    if (!gradient) return;
    MatrixView out = gradient->accumulator(rows, heads * layout.width);
    for (size_t r = 0; r < rows; ++r)
      for (size_t i = 0; i < out.cols; ++i)
        out(r, i) += static_cast<float>(
            factor * sums[r * width + i / layout.width * layout.padded + i % layout.width]);
  }
};

// The keys and values of a call in backward.
struct Neighbours {
  ConstMatrixView keys, values;

  Neighbours(const AttentionCall& call, const KeptAttention& kept)
      : keys(call.keys(kept.k->view())),
        values(call.values(kept.k->view(), kept.v ? kept.v->view() : ConstMatrixView{})) {}
};

Matrix query_gradients(const AttentionCall& call, const KeptAttention& kept, const Upstream& up,
                       const AttentionCoefficients& c) {
  const AttentionLayout& layout = call.layout;
  size_t n = call.rows.rows;
  Neighbours neighbours(call, kept);
  Table table(neighbours.keys, neighbours.values, layout);
  PaddedRows q(kept.q->view(), layout.vectors, layout.padded);
  Matrix dq(kept.q->view().rows, layout.query_row(), MemoryTag::gradients);
  if (dq.rows() > n) fill(dq.view().block(n, dq.rows() - n), 0.0F);
  ParameterGradients parameters(call, (n + kAttentionBlockRows - 1) / kAttentionBlockRows);
  parallel_for(n, kAttentionBlockRows, [&](size_t begin, size_t end) {
    AttentionBackward b;
    b.view = kernel_view(call, call.rows, table.view(), c);
    b.x_stride = dq.cols();
    b.y_stride = up.g.cols();
    b.row_x = q.data();
    b.row_y = up.g.data();
    b.delta = up.delta.data();
    b.dx = dq.data();
    parameters.attach(b, begin / kAttentionBlockRows);
    SPEX_CALL(attention_backward, b, begin, end);
  });
  parameters.add_to(kept.in, c);
  return unpadded(std::move(dq), layout.vectors, layout.width, MemoryTag::gradients);
}

// Queries and their gradients, read by the keys. Folded, a query has a vector for each type.
class QueryTable {
 public:
  QueryTable(const AttentionLayout& layout, ConstMatrixView q, ConstMatrixView g)
      : q_(q, layout.vectors, layout.padded),
        view_{q_.data(), g.data, g.cols, layout.query_row(), layout.padded} {
    if (layout.kind == LayoutKind::folded) return;
    table_ = Table(ConstMatrixView{q_.data(), g.rows, g.cols, g.cols}, g, layout);
    view_ = table_.view();
  }
  const TableView& view() const { return view_; }

 private:
  PaddedRows q_;
  Table table_;
  TableView view_;
};

void give(const Var& to, Matrix padded, const AttentionLayout& layout) {
  if (const auto& gradient = to.gradient())
    gradient->give(unpadded(std::move(padded), layout.heads, layout.width, MemoryTag::gradients));
}

void key_gradients(const AttentionCall& call, const PatternView& transposed,
                   const KeptAttention& kept, const Upstream& up, const AttentionCoefficients& c) {
  const AttentionLayout& layout = call.layout;
  QueryTable queries(layout, kept.q->view(), up.g.view());
  Neighbours own(call, kept);
  PaddedRows k, v;
  Matrix dk(call.sources, call.joined ? 2 * layout.row() : layout.row(), MemoryTag::gradients), dv;
  AttentionBackward b;
  b.view = kernel_view(call, transposed, queries.view(), c);
  b.key_side = true;
  b.x_stride = b.y_stride = dk.cols();
  b.delta = up.delta.data();
  b.dx = dk.data();
  if (call.joined) {  // nothing is padded then, and both gradients are halves of one matrix
    b.row_x = own.keys.data;
    b.row_y = own.values.data;
    b.dy = dk.data() + layout.row();
  } else {
    k = PaddedRows(own.keys, layout.heads, layout.padded);
    b.row_x = k.data();
  }
  if (!call.joined && layout.kind != LayoutKind::folded) {
    v = PaddedRows(own.values, layout.heads, layout.padded);
    dv = Matrix(call.sources, layout.row(), MemoryTag::gradients);
    b.row_y = v.data();
    b.dy = dv.data();
  }
  parallel_for(call.sources, kAttentionBlockRows,
               [&](size_t begin, size_t end) { SPEX_CALL(attention_backward, b, begin, end); });
  if (!call.joined)
    give(kept.in.k, std::move(dk), layout);
  else if (const auto& gradient = kept.in.k.gradient())
    gradient->give(std::move(dk));
  give(kept.in.v, std::move(dv), layout);
}

}  // namespace

void give_attention_gradients(const AttentionCall& call, const PatternView& transposed,
                              KeptAttention& kept, Matrix dout) {
  AttentionCoefficients c(kept.in, call);
  Upstream up = make_upstream(call.layout, std::move(dout), kept.out->view(), kept.inverse_sum);
  kept.out.reset();
  Matrix dq = query_gradients(call, kept, up, c);
  if (const auto& gradient = kept.in.q.gradient()) gradient->give(std::move(dq));
  key_gradients(call, transposed, kept, up, c);
}

}  // namespace spex
