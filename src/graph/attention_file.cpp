#include <spex/core/error.h>
#include <spex/core/safetensors.h>
#include <spex/core/text.h>
#include <spex/graph/attention_file.h>

#include <algorithm>
#include <charconv>

namespace spex {
namespace {

constexpr const char* kFormat = "spex-attention-graph-1";

const std::string& text(const Safetensors& file, const std::string& key) {
  auto found = file.metadata().find(key);
  require(found != file.metadata().end(), "{} lacks {}", file.path().string(), key);
  return found->second;
}

size_t number(const Safetensors& file, const std::string& key) {
  return parse_count(text(file, key), fmt::format("{}: {}", file.path().string(), key));
}

uint64_t parse_hex(const std::string& digits, const std::filesystem::path& path) {
  uint64_t value = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  require(error == std::errc() && end == digits.data() + digits.size(),
          "{}: the fingerprint is \"{}\", not a number", path.string(), digits);
  return value;
}

// Offsets and segment ends never fall, and every neighbour is a node.
bool fits_together(const AttentionGraph& graph) {
  for (size_t i = 0; i < graph.nodes(); ++i) {
    EdgeOffset before = graph.offsets[i];
    for (size_t t = 0; t < graph.types; ++t) {
      if (graph.segment_end(t, i) < before || graph.segment_end(t, i) > graph.edges()) return false;
      before = graph.segment_end(t, i);
    }
  }
  return std::all_of(graph.neighbours.begin(), graph.neighbours.end(),
                     [&](NodeId node) { return node < graph.nodes(); });
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
  saved.fingerprint = parse_hex(text(file, "fingerprint"), path);
  graph.offsets = file.array<EdgeOffset>("offsets");
  graph.neighbours = file.array<NodeId>("neighbours");
  require(graph.types >= 1 && graph.types <= kMaxEdgeTypes && !graph.offsets.empty() &&
              graph.offsets[graph.nodes()] == graph.edges(),
          "{} does not fit together: it was cut or changed", path.string());
  graph.segment_ends = file.array<EdgeOffset>("segment_ends", {graph.types - 1, graph.nodes()});
  require(fits_together(graph), "{} is damaged: its rows do not fit together", path.string());
  return saved;
}

}  // namespace spex
