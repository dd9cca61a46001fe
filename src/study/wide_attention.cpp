#include "study/wide_attention.h"

#include <fmt/format.h>
#include <spex/core/error.h>
#include <spex/core/random.h>
#include <spex/core/threads.h>
#include <spex/model/spexphormer.h>
#include <spex/tensor/gemm.h>

#include <algorithm>
#include <cmath>

namespace spex {
namespace {

constexpr float kClamp = 8.0F;
constexpr size_t kAttentionBlock = 1024;

Matrix product(ConstMatrixView a, ConstMatrixView b, Transpose transpose_b = Transpose::no) {
  Matrix out(a.rows, transpose_b == Transpose::no ? b.cols : b.rows, MemoryTag::activations);
  parallel_for(a.rows, kAttentionBlock, [&](size_t begin, size_t end) {
    gemm(out.view().block(begin, end - begin), a.block(begin, end - begin), Transpose::no, b,
         transpose_b);
  });
  return out;
}

Matrix copy_of(ConstMatrixView from) {
  Matrix out(from.rows, from.cols, MemoryTag::activations);
  copy(out, from);
  return out;
}

Matrix random_projection(size_t rows, size_t cols, uint64_t seed) {
  Random random(seed, Purpose::generator, 3);
  Matrix m(rows, cols, MemoryTag::activations);
  double scale = 1 / std::sqrt(static_cast<double>(rows));
  for (size_t i = 0; i < m.size(); ++i) m.data()[i] = static_cast<float>(scale * random.normal(i));
  return m;
}

// Rows of q times row `type` of the modulation, elementwise.
Matrix modulated(const AttentionParts& parts, size_t type) {
  Matrix out(parts.q.rows(), parts.q.cols(), MemoryTag::activations);
  for (size_t i = 0; i < out.rows(); ++i)
    for (size_t d = 0; d < out.cols(); ++d) out(i, d) = parts.q(i, d) * parts.modulation(type, d);
  return out;
}

float dot(const float* a, const float* b, size_t width) {
  float sum = 0;
  for (size_t d = 0; d < width; ++d) sum += a[d] * b[d];
  return sum;
}

std::vector<float> lengths_of(const Matrix& rows) {
  std::vector<float> lengths(rows.rows());
  for (size_t i = 0; i < rows.rows(); ++i) {
    const float* row = rows.view().row(i);
    lengths[i] = std::sqrt(dot(row, row, rows.cols()));
  }
  return lengths;
}

}  // namespace

std::vector<AttentionParts> attention_parts(Model& model, const Phase& phase, const Ground& ground,
                                            float temperature) {
  const auto& options = dynamic_cast<const EstimatorOptions&>(*phase.model);
  require(!options.clamp_first,
          "scores are rebuilt for estimators that clamp after the temperature");
  std::vector<Matrix> inputs;  // of each layer; the last one is the last layer's output
  Pass pass;
  pass.temperature = temperature;
  pass.inspect = [&](std::string_view stage, ConstMatrixView value) {
    if (stage.starts_with("layer")) inputs.push_back(copy_of(value));
    if (stage == "the node encoder" || stage.starts_with("pre-layer")) {
      inputs.clear();
      inputs.push_back(copy_of(value));
    }
  };
  Tape tape(false);
  model.forward(tape, whole_input(ground.data.features), whole_neighbourhood(ground.graphs()),
                pass);
  auto weight = [&](const std::string& name) -> ConstMatrixView {
    return model.parameters().at(name).value;
  };
  std::vector<AttentionParts> layers;
  for (size_t l = 0; l + 1 < inputs.size(); ++l) {
    std::string name = fmt::format("layers.{}.", l);
    AttentionParts parts;
    parts.q = product(inputs[l], weight(name + "q.weight"));
    parts.k = product(inputs[l], weight(name + "k.weight"));
    parts.modulation = product(weight("edge_types"), weight(name + "modulation.weight"));
    if (options.modulation == Modulation::sum)
      for (size_t t = 0; t < parts.modulation.rows(); ++t) {
        float* row = parts.modulation.view().row(t);
        float sum = 0;
        for (size_t d = 0; d < parts.modulation.cols(); ++d) sum += row[d];
        std::fill(row, row + parts.modulation.cols(), sum);
      }
    parts.bias = product(weight("edge_types"), weight(name + "type_bias.weight"));
    for (size_t t = 0; t < parts.bias.rows(); ++t)
      parts.bias(t, 0) += weight(name + "type_bias.bias")(0, 0);
    parts.bias(static_cast<size_t>(EdgeType::expander), 0) +=
        static_cast<float>(options.expander_bias);
    parts.temperature = temperature;
    parts.factor = score_factor({1, options.scale_by_width, temperature, kClamp}, options.width);
    layers.push_back(std::move(parts));
  }
  return layers;
}

EdgeLogits edge_logits(const AttentionParts& parts, const AttentionGraph& graph, size_t width,
                       uint64_t seed) {
  EdgeLogits result;
  result.logits.resize(graph.edges());
  result.lengths.resize(graph.edges());
  Matrix projection = width > 0 ? random_projection(width, parts.q.cols(), seed) : Matrix();
  std::vector<float> key_lengths = lengths_of(parts.k);
  Matrix keys = width > 0 ? product(parts.k, projection, Transpose::yes) : copy_of(parts.k);
  for (size_t t = 0; t < graph.types; ++t) {
    Matrix queries = modulated(parts, t);
    std::vector<float> query_lengths = lengths_of(queries);
    if (width > 0) queries = product(queries, projection, Transpose::yes);
    float bias = parts.bias(t, 0) / parts.temperature;
    parallel_for(graph.nodes(), kAttentionBlock, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i)
        for (EdgeOffset e = graph.segment_begin(t, i); e < graph.segment_end(t, i); ++e) {
          NodeId j = graph.neighbours[e];
          float product = dot(queries.view().row(i), keys.view().row(j), keys.cols());
          result.logits[e] = parts.factor * product + bias;
          result.lengths[e] = parts.factor * query_lengths[i] * key_lengths[j];
        }
    });
  }
  return result;
}

void to_scores(std::vector<float>& logits, const AttentionGraph& graph) {
  parallel_for(graph.nodes(), kAttentionBlock, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      double sum = 0;
      for (EdgeOffset e = graph.offsets[i]; e < graph.offsets[i + 1]; ++e)
        sum += logits[e] = std::exp(std::clamp(logits[e], -kClamp, kClamp));
      for (EdgeOffset e = graph.offsets[i]; e < graph.offsets[i + 1]; ++e)
        logits[e] = static_cast<float>(logits[e] / sum);
    }
  });
}

}  // namespace spex
