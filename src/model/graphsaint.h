// GraphSAINT: a GNN trained on sampled subgraphs. What is special is in the batches
// (spex/sample/saint.h).
#pragma once

#include "model/gnn.h"

namespace spex {

struct GraphSaintOptions : Options<GraphSaintOptions> {
  GnnOptions gnn;
  SubgraphOptions subgraphs;

  void list(SettingList& s) override;
  void check() const override;
  std::vector<std::string> idle() const override;
  Needs needs() const override;
  std::unique_ptr<Model> make(const Shape& shape, uint64_t seed) const override;
};

}  // namespace spex
