#include "model/graphsaint.h"

namespace spex {

void GraphSaintOptions::list(SettingList& s) {
  static const Words<SubgraphSampling> samplers = {{"walk", SubgraphSampling::walk},
                                                   {"edge", SubgraphSampling::edge},
                                                   {"node", SubgraphSampling::node}};
  s.add("sampler", subgraphs.kind, samplers,
        "walk, edge or node: what a step draws, batch_size of them");
  s.add("depth", subgraphs.depth, {1, 100}, "steps of a walk");
  s.add("rounds", subgraphs.rounds, {1, 1000},
        "draws of the whole graph beforehand, to know how often nodes and edges are drawn");
  s.add("convolution", gnn.convolution, convolution_words(), "gcn, sage or gat");
  s.add("layers", gnn.layers, {1, 1000}, "convolutions");
  s.add("heads", gnn.heads, {1, 64}, "attention heads, of gat");
  gnn.list_layers(s);
}

void GraphSaintOptions::check() const {
  gnn.check();
}

std::vector<std::string> GraphSaintOptions::idle() const {
  return gnn.convolution == Convolution::gat ? std::vector<std::string>()
                                             : std::vector<std::string>{"heads"};
}

Needs GraphSaintOptions::needs() const {
  Needs needs = gnn.needs();
  needs.batching = Batching::subgraphs;
  needs.subgraphs = subgraphs;
  return needs;
}

std::unique_ptr<Model> GraphSaintOptions::make(const Shape& shape, uint64_t seed) const {
  return gnn.make(shape, seed);
}

}  // namespace spex
