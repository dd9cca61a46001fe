#include <spex/model/spexphormer.h>

namespace spex {
namespace {

constexpr float kClamp = 5.0F;  // as the authors' program has it

}  // namespace

void ExphormerOptions::list(SettingList& s) {
  s.add("layers", layers, {1, 100}, "attention layers");
  s.add("width", width, {1, 1024}, "features per node, all heads together");
  s.add("heads", heads, {1, 64}, "attention heads");
  s.add("pre_layers", pre_layers, {0, 100}, "dense layers before attention");
  s.add("post_layers", post_layers, {0, 100}, "dense layers after attention");
  s.add("norm", norm, norm_words(), "none, layer, batch or graph");
  s.add("dropout", dropout, {0, 1, Range::below}, "share of activations dropped in training");
  s.add("recompute", recompute, "run layers again in backward: less memory, more time");
  s.add("virtual_nodes", virtual_nodes, {0, 1000}, "nodes joined to all others");
}

void ExphormerOptions::check() const {
  check_heads(width, heads);
}

Needs ExphormerOptions::needs() const {
  Needs needs;
  needs.attention = true;
  needs.edge_features = true;
  needs.layers = layers;
  needs.every_row = norm == Norm::graph;
  needs.row_floats = 2 * width;
  needs.virtual_nodes = virtual_nodes;
  return needs;
}

std::unique_ptr<Model> ExphormerOptions::make(const Shape& shape, uint64_t seed) const {
  TransformerOptions t;
  t.width = width;
  t.heads = heads;
  t.layers = layers;
  t.pre_layers = pre_layers;
  t.post_layers = post_layers;
  t.norm = norm;
  t.dropout = dropout;
  t.recompute = recompute;
  t.scale_by_width = true;
  t.clamp = kClamp;
  t.type_bias = false;
  t.virtual_nodes = virtual_nodes;
  return std::make_unique<Transformer>(shape, t, seed);
}

}  // namespace spex
