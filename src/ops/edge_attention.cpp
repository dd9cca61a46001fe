// Plain loops, parallel over rows: an edge costs features x width operations, so memory is not the
// limit. N nodes, H heads, D head width, W = H D, F edge features.
#include <spex/core/error.h>
#include <spex/core/threads.h>
#include <spex/ops/edge_attention.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace spex {
namespace {

constexpr size_t kBlockRows = 64;
constexpr float kEpsilon = 1e-6F;

struct Call {
  const AttentionGraph& graph;
  ConstMatrixView x;  // edge features
  AttentionOptions options;
  size_t width;       // W
  Matrix modulation;  // F x W, with the scale and 1/T inside
  Matrix bias;        // F x H, with 1/T inside
  float modulation_factor, bias_factor;

  size_t head_width() const { return width / options.heads; }

  // E(x_e): the modulation of one edge, W numbers; B(x_e): H numbers.
  void of_edge(EdgeOffset e, float* modulation_e, float* bias_e) const {
    std::fill_n(modulation_e, width, 0.0F);
    std::fill_n(bias_e, options.heads, 0.0F);
    for (size_t f = 0; f < x.cols; ++f) {
      for (size_t d = 0; d < width; ++d) modulation_e[d] += x(e, f) * modulation(f, d);
      for (size_t h = 0; h < options.heads; ++h) bias_e[h] += x(e, f) * bias(f, h);
    }
  }

  float score(const float* q, const float* k, const float* modulation_e, const float* bias_e,
              size_t h) const {
    float sum = bias_e[h];
    for (size_t d = h * head_width(); d < (h + 1) * head_width(); ++d)
      sum += modulation_e[d] * q[d] * k[d];
    return sum;
  }
  float weight(float score) const {
    return std::exp(std::clamp(score, -options.clamp, options.clamp));
  }
  bool uncut(float score) const { return std::abs(score) <= options.clamp; }
};

Call make_call(const AttentionInputs& in, const AttentionGraph& graph, ConstMatrixView x,
               const AttentionOptions& options) {
  size_t width = in.q.cols();
  require(options.heads > 0 && width % options.heads == 0,
          "edge attention: {} heads do not divide a width of {}", options.heads, width);
  require(x.rows == graph.edges() && x.cols > 0, "edge attention: {} x {} features for {} edges",
          x.rows, x.cols, graph.edges());
  for (const Var& rows : {in.q, in.k, in.v})
    require(rows.rows() == graph.nodes() && rows.cols() == width,
            "edge attention: {} x {} inputs for {} nodes of width {}", rows.rows(), rows.cols(),
            graph.nodes(), width);
  require(!in.modulation || (in.modulation.rows() == x.cols && in.modulation.cols() == width),
          "edge attention: a modulation of {} x {} for {} features", in.modulation.rows(),
          in.modulation.cols(), x.cols);
  require(!in.bias || (in.bias.rows() == x.cols && in.bias.cols() == options.heads),
          "edge attention: a bias of {} x {} for {} features", in.bias.rows(), in.bias.cols(),
          x.cols);
  Call call{graph,
            x,
            options,
            width,
            Matrix(x.cols, width, MemoryTag::activations),
            Matrix::zeros(x.cols, options.heads, MemoryTag::activations),
            1.0F / options.temperature,
            1.0F / options.temperature};
  if (options.scale_by_width)
    call.modulation_factor /= std::sqrt(static_cast<float>(width / options.heads));
  fill(call.modulation, call.modulation_factor);
  for (size_t f = 0; f < x.cols; ++f) {
    for (size_t d = 0; in.modulation && d < width; ++d)
      call.modulation(f, d) *= in.modulation.value()(f, d);
    for (size_t h = 0; in.bias && h < options.heads; ++h)
      call.bias(f, h) = call.bias_factor * in.bias.value()(f, h);
  }
  return call;
}

void forward_rows(const Call& c, MatrixView out, MatrixView inverse, const AttentionInputs& in,
                  size_t begin, size_t end) {
  std::vector<float> modulation(c.width), bias(c.options.heads);
  for (size_t i = begin; i < end; ++i) {
    std::fill_n(out.row(i), c.width, 0.0F);
    std::fill_n(inverse.row(i), c.options.heads, kEpsilon);
    for (EdgeOffset e = c.graph.offsets[i]; e < c.graph.offsets[i + 1]; ++e) {
      NodeId j = c.graph.neighbours[e];
      c.of_edge(e, modulation.data(), bias.data());
      for (size_t h = 0; h < c.options.heads; ++h) {
        float w = c.weight(
            c.score(in.q.value().row(i), in.k.value().row(j), modulation.data(), bias.data(), h));
        inverse(i, h) += w;
        for (size_t d = h * c.head_width(); d < (h + 1) * c.head_width(); ++d)
          out(i, d) += w * in.v.value()(j, d);
      }
    }
    for (size_t h = 0; h < c.options.heads; ++h) {
      inverse(i, h) = 1.0F / inverse(i, h);
      for (size_t d = h * c.head_width(); d < (h + 1) * c.head_width(); ++d)
        out(i, d) *= inverse(i, h);
    }
  }
}

// What one edge contributes, seen from either end: with a = w / S and g = do,
//   ds = a (g . v_j - g . o_i), zero where the clamp cut.
struct EdgeGradient {
  float a, ds;
};

struct Backward {
  const Call& c;
  ConstMatrixView q, k, v, out, inverse, dout;

  EdgeGradient at(size_t i, size_t j, const float* modulation, const float* bias, size_t h) const {
    float score = c.score(q.row(i), k.row(j), modulation, bias, h);
    float a = c.weight(score) * inverse(i, h);
    float inner = 0.0F;
    for (size_t d = h * c.head_width(); d < (h + 1) * c.head_width(); ++d)
      inner += dout(i, d) * (v(j, d) - out(i, d));
    return {a, c.uncut(score) ? a * inner : 0.0F};
  }

  // dq_i, and this block's part of dE and dB.
  void query_rows(MatrixView dq, float* dmodulation, float* dbias, size_t begin, size_t end) const {
    std::vector<float> modulation(c.width), bias(c.options.heads);
    for (size_t i = begin; i < end; ++i) {
      std::fill_n(dq.row(i), c.width, 0.0F);
      for (EdgeOffset e = c.graph.offsets[i]; e < c.graph.offsets[i + 1]; ++e) {
        NodeId j = c.graph.neighbours[e];
        c.of_edge(e, modulation.data(), bias.data());
        for (size_t h = 0; h < c.options.heads; ++h) {
          float ds = at(i, j, modulation.data(), bias.data(), h).ds;
          for (size_t f = 0; f < c.x.cols; ++f) dbias[f * c.options.heads + h] += ds * c.x(e, f);
          for (size_t d = h * c.head_width(); d < (h + 1) * c.head_width(); ++d) {
            dq(i, d) += ds * modulation[d] * k(j, d);
            for (size_t f = 0; f < c.x.cols; ++f)
              dmodulation[f * c.width + d] += ds * c.x(e, f) * q(i, d) * k(j, d);
          }
        }
      }
    }
  }

  void key_rows(MatrixView dk, MatrixView dv, const IncomingEdges& incoming, size_t begin,
                size_t end) const {
    std::vector<float> modulation(c.width), bias(c.options.heads);
    for (size_t j = begin; j < end; ++j) {
      std::fill_n(dk.row(j), c.width, 0.0F);
      std::fill_n(dv.row(j), c.width, 0.0F);
      for (EdgeOffset at_edge = incoming.offsets[j]; at_edge < incoming.offsets[j + 1]; ++at_edge) {
        NodeId i = incoming.queries[at_edge];
        c.of_edge(incoming.edges[at_edge], modulation.data(), bias.data());
        for (size_t h = 0; h < c.options.heads; ++h) {
          EdgeGradient gradient = at(i, j, modulation.data(), bias.data(), h);
          for (size_t d = h * c.head_width(); d < (h + 1) * c.head_width(); ++d) {
            dk(j, d) += gradient.ds * modulation[d] * q(i, d);
            dv(j, d) += gradient.a * dout(i, d);
          }
        }
      }
    }
  }
};

// The sum over blocks, in their order, times the factor that the coefficients were given.
void add_parts(const std::shared_ptr<Gradient>& gradient, ConstMatrixView parts, size_t rows,
               size_t cols, float factor) {
  if (!gradient) return;
  MatrixView out = gradient->accumulator(rows, cols);
  for (size_t i = 0; i < rows * cols; ++i) {
    double sum = 0;
    for (size_t b = 0; b < parts.rows; ++b) sum += parts(b, i);
    out.data[i] += static_cast<float>(sum * factor);
  }
}

void backward(const AttentionInputs& in, const Call& c, const IncomingEdges& incoming,
              ConstMatrixView out, ConstMatrixView inverse, ConstMatrixView dout) {
  Backward b{c, in.q.value(), in.k.value(), in.v.value(), out, inverse, dout};
  size_t nodes = c.graph.nodes();
  size_t blocks = (nodes + kBlockRows - 1) / kBlockRows;
  Matrix dmodulation = Matrix::zeros(blocks, c.x.cols * c.width, MemoryTag::gradients);
  Matrix dbias = Matrix::zeros(blocks, c.x.cols * c.options.heads, MemoryTag::gradients);
  Matrix dq(nodes, c.width, MemoryTag::gradients), dk(nodes, c.width, MemoryTag::gradients),
      dv(nodes, c.width, MemoryTag::gradients);
  parallel_for(nodes, kBlockRows, [&](size_t begin, size_t end) {
    size_t block = begin / kBlockRows;
    b.query_rows(dq, dmodulation.view().row(block), dbias.view().row(block), begin, end);
    b.key_rows(dk, dv, incoming, begin, end);
  });
  add_parts(in.modulation.gradient(), dmodulation, c.x.cols, c.width, c.modulation_factor);
  add_parts(in.bias.gradient(), dbias, c.x.cols, c.options.heads, c.bias_factor);
  if (in.q.gradient()) in.q.gradient()->give(std::move(dq));
  if (in.k.gradient()) in.k.gradient()->give(std::move(dk));
  if (in.v.gradient()) in.v.gradient()->give(std::move(dv));
}

}  // namespace

IncomingEdges incoming_edges(const AttentionGraph& graph) {
  size_t nodes = graph.nodes();
  IncomingEdges in{Buffer<EdgeOffset>(nodes + 1, MemoryTag::graph),
                   Buffer<NodeId>(graph.edges(), MemoryTag::graph),
                   Buffer<EdgeOffset>(graph.edges(), MemoryTag::graph)};
  std::fill(in.offsets.begin(), in.offsets.end(), 0);
  for (NodeId j : graph.neighbours) ++in.offsets[j + 1];
  for (size_t j = 0; j < nodes; ++j) in.offsets[j + 1] += in.offsets[j];
  std::vector<EdgeOffset> next(in.offsets.begin(), in.offsets.end() - 1);
  for (size_t i = 0; i < nodes; ++i)
    for (EdgeOffset e = graph.offsets[i]; e < graph.offsets[i + 1]; ++e) {
      EdgeOffset to = next[graph.neighbours[e]]++;
      in.queries[to] = static_cast<NodeId>(i);
      in.edges[to] = e;
    }
  return in;
}

Var edge_attention(Tape& tape, const AttentionInputs& in, const AttentionGraph& graph,
                   const IncomingEdges& incoming, ConstMatrixView edge_features,
                   const AttentionOptions& options) {
  auto call = std::make_shared<Call>(make_call(in, graph, edge_features, options));
  Matrix out(graph.nodes(), call->width, MemoryTag::activations);
  auto inverse = std::make_shared<Matrix>(graph.nodes(), options.heads, MemoryTag::activations);
  parallel_for(graph.nodes(), kBlockRows, [&](size_t begin, size_t end) {
    forward_rows(*call, out, *inverse, in, begin, end);
  });
  // Kept for backward: q, k, v, the output and one normaliser per node and head.
  auto value = Tape::share(std::move(out));
  return tape.result(value, {in.q, in.k, in.v, in.modulation, in.bias},
                     [in, call, inverse, value, &incoming](ConstMatrixView dout) {
                       backward(in, *call, incoming, value->view(), inverse->view(), dout);
                     });
}

}  // namespace spex
