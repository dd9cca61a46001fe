#include <spex/core/error.h>
#include <spex/core/safetensors.h>
#include <spex/core/threads.h>
#include <spex/sample/scores.h>

#include <algorithm>
#include <functional>

namespace spex {
namespace {

constexpr const char* kFormat = "spex-scores-1";
constexpr uint16_t kLeastPositive = 1;  // bits of the least 16-bit float above 0

std::span<const uint16_t> bits(const SharedArray<Half>& scores) {
  return {reinterpret_cast<const uint16_t*>(scores.data()), scores.size()};
}

std::string layer_name(size_t layer) {
  return fmt::format("layer.{}", layer);
}

SharedArray<Half> layer_of(const Safetensors& file, const std::string& layer, size_t edges) {
  Dtype dtype = file.info(layer).dtype;  // other 16-bit types have the same size
  require(dtype == Dtype::f16, "{}: {} holds {} values, not F16", file.path().string(), layer,
          name(dtype));
  auto values = std::make_shared<SharedArray<uint16_t>>(file.array<uint16_t>(layer, {edges}));
  return {{reinterpret_cast<const Half*>(values->data()), values->size()}, values};
}

// Bits of non-negative 16-bit floats order as the floats do, so no conversion is needed.
void truncate_row(std::span<Half> row, size_t keep, std::vector<uint16_t>& scratch) {
  if (row.size() <= keep) return;
  scratch.clear();
  for (Half score : row) scratch.push_back(score.bits);
  auto cut = scratch.begin() + static_cast<ptrdiff_t>(keep - 1);
  std::nth_element(scratch.begin(), cut, scratch.end(), std::greater<>());
  uint16_t least = *cut;
  size_t above = static_cast<size_t>(
      std::count_if(row.begin(), row.end(), [&](Half score) { return score.bits > least; }));
  size_t ties = keep - above;  // of the edges that score just `least`, the first so many stay
  for (Half& score : row) {
    if (score.bits > least) continue;
    if (score.bits == least && ties > 0) {
      --ties;
      score.bits = std::max(score.bits, kLeastPositive);
    } else {
      score.bits = 0;
    }
  }
}

}  // namespace

void save_scores(const std::filesystem::path& path, const Scores& scores, uint64_t fingerprint) {
  std::vector<TensorSource> tensors;
  for (size_t l = 0; l < scores.layers.size(); ++l)
    tensors.push_back(tensor<uint16_t>(layer_name(l), bits(scores.layers[l]),
                                       {scores.layers[l].size()}, Dtype::f16));
  auto metadata = scores.metadata;
  metadata["format"] = kFormat;
  metadata["fingerprint"] = fmt::format("{:016x}", fingerprint);
  write_safetensors(path, tensors, metadata);
}

Scores load_scores(const std::filesystem::path& path, const AttentionGraph& graph,
                   uint64_t fingerprint) {
  auto file = Safetensors::open(path);
  Scores scores;
  scores.metadata = file.metadata();
  require(scores.metadata["format"] == kFormat,
          "{} is not a file of attention scores; `spex estimate` writes one", path.string());
  require(scores.metadata["fingerprint"] == fmt::format("{:016x}", fingerprint),
          "{} holds the scores of another graph (fingerprint {}, this one's is {:016x}); use the "
          "data set, expander degree and expander seed it was made with",
          path.string(), scores.metadata["fingerprint"], fingerprint);
  for (size_t l = 0; file.contains(layer_name(l)); ++l)
    scores.layers.push_back(layer_of(file, layer_name(l), graph.edges()));
  require(!scores.layers.empty(), "{} holds no layer of scores", path.string());
  return scores;
}

void check(const Scores& scores, const AttentionGraph& graph) {
  require(!scores.layers.empty(), "attention scores without any layer");
  for (size_t l = 0; l < scores.layers.size(); ++l)
    require(scores.layers[l].size() == graph.edges(),
            "layer {} has {} attention scores, but the graph has {} edges", l,
            scores.layers[l].size(), graph.edges());
}

Scores truncate(const Scores& scores, const AttentionGraph& graph, size_t keep) {
  check(scores, graph);
  require(keep > 0, "cannot keep the 0 largest scores of a row; keep at least 1");
  Scores result;
  result.metadata = scores.metadata;
  for (const auto& layer : scores.layers) {
    Buffer<Half> cut(layer.size(), MemoryTag::scores);
    std::copy(layer.begin(), layer.end(), cut.begin());
    parallel_for(graph.nodes(), 1024, [&](size_t begin, size_t end) {
      std::vector<uint16_t> scratch;
      for (size_t i = begin; i < end; ++i)
        truncate_row(cut.span().subspan(graph.offsets[i], graph.offsets[i + 1] - graph.offsets[i]),
                     keep, scratch);
    });
    result.layers.emplace_back(std::move(cut));
  }
  return result;
}

}  // namespace spex
