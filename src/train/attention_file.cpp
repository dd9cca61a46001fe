#include <spex/core/error.h>
#include <spex/core/safetensors.h>
#include <spex/train/predict.h>

namespace spex {
namespace {

constexpr const char* kFormat = "spex-attention-graph-1";

size_t number(const Safetensors& file, const std::string& key, int base = 10) {
  auto found = file.metadata().find(key);
  require(found != file.metadata().end(), "{} lacks {}", file.path().string(), key);
  return std::stoull(found->second, nullptr, base);
}

}  // namespace

void save_attention_graph(const std::filesystem::path& path, const AttentionGraph& graph,
                          uint64_t fingerprint) {
  std::vector<TensorSource> tensors = {
      tensor<EdgeOffset>("offsets", graph.offsets.span(), {graph.offsets.size()}),
      tensor<NodeId>("neighbours", graph.neighbours.span(), {graph.edges()}),
      tensor<EdgeOffset>("segment_ends", graph.segment_ends.span(),
                         {graph.types - 1, graph.nodes()})};
  write_safetensors(path, tensors,
                    {{"format", kFormat},
                     {"types", fmt::format("{}", graph.types)},
                     {"virtual_nodes", fmt::format("{}", graph.virtual_nodes)},
                     {"symmetric", graph.symmetric ? "1" : "0"},
                     {"fingerprint", fmt::format("{:016x}", fingerprint)}});
}

SavedGraph load_attention_graph(const std::filesystem::path& path) {
  auto file = Safetensors::open(path);
  auto format = file.metadata().find("format");
  require(format != file.metadata().end() && format->second == kFormat,
          "{} is not an attention graph that spex wrote", path.string());
  SavedGraph saved;
  AttentionGraph& graph = saved.graph;
  graph.types = number(file, "types");
  graph.virtual_nodes = number(file, "virtual_nodes");
  graph.symmetric = number(file, "symmetric") != 0;
  saved.fingerprint = number(file, "fingerprint", 16);
  graph.offsets = file.array<EdgeOffset>("offsets");
  graph.neighbours = file.array<NodeId>("neighbours");
  require(graph.types >= 1 && graph.types <= kMaxEdgeTypes && !graph.offsets.empty() &&
              graph.offsets[graph.nodes()] == graph.edges(),
          "{} does not fit together: it was cut or changed", path.string());
  graph.segment_ends = file.array<EdgeOffset>("segment_ends", {graph.types - 1, graph.nodes()});
  return saved;
}

}  // namespace spex
