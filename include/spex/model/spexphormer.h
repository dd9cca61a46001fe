// The paper's three networks: the attention score estimator, Spexphormer over sampled neighbours,
// and Exphormer over all edges.
#pragma once

#include <spex/model/transformer.h>

namespace spex {

struct EstimatorOptions : Options<EstimatorOptions> {
  size_t layers = 0;  // 0: as many as the network that draws by its scores, or four
  size_t width = 8;
  size_t pre_layers = 1;
  Norm norm = Norm::batch;
  Modulation modulation = Modulation::elementwise;
  bool scale_by_width = true;
  bool normalize_values = true;
  double expander_bias = 0;
  bool anneal = true;  // the temperature; otherwise T = 1 throughout
  size_t lambda = 5;
  double gamma = 0.99;
  double tau_min = 0.05;
  bool clamp_first = false;
  size_t estimators = 1;

  void list(SettingList& s) override;
  Needs needs() const override;
  std::unique_ptr<Model> make(const Shape& shape, uint64_t seed) const override;
  // T = 1 in lambda epochs, then gamma, gamma^2, .., but never below tau_min.
  double temperature(size_t epoch) const override;
  size_t tries() const override { return estimators; }
  void serve(const Needs& next) override;
};

struct SpexphormerOptions : Options<SpexphormerOptions> {
  size_t width = 64;
  size_t heads = 2;
  std::vector<size_t> degrees = {10, 10};  // their number is the number of layers
  size_t pre_layers = 1;
  size_t post_layers = 0;
  Norm norm = Norm::batch;
  double dropout = 0.2;
  bool recompute = false;
  Sampling sampling = Sampling::weighted;
  size_t resample_every = 1;
  size_t truncate = 0;
  bool log_scores = false;

  void list(SettingList& s) override;
  Needs needs() const override;
  std::unique_ptr<Model> make(const Shape& shape, uint64_t seed) const override;
  void check() const override;
};

struct ExphormerOptions : Options<ExphormerOptions> {
  size_t layers = 4;
  size_t width = 64;
  size_t heads = 2;
  size_t pre_layers = 1;
  size_t post_layers = 0;
  Norm norm = Norm::batch;
  double dropout = 0.2;
  bool recompute = false;
  size_t virtual_nodes = 0;

  void list(SettingList& s) override;
  Needs needs() const override;
  std::unique_ptr<Model> make(const Shape& shape, uint64_t seed) const override;
  void check() const override;
};

}  // namespace spex
