// A run that never happened, with every part the report can show and the shapes real runs have:
// what the tests of the record and of the report look at.
#pragma once

#include <spex/run/record.h>

#include <cmath>
#include <limits>

namespace spex::example {

inline void add_phase(RunRecord& record, const std::string& phase, size_t seed, size_t epochs) {
  bool estimator = phase == "estimator";
  for (size_t epoch = 0; epoch < epochs; ++epoch) {
    double t = static_cast<double>(epoch) / static_cast<double>(epochs);
    double wobble = 0.012 * std::sin(double(epoch) * 2.3 + double(seed) * 1.7) * (1 - t);
    double reached = (estimator ? 0.83 : 0.90) + 0.004 * std::sin(double(seed) * 2.0);
    double metric = reached - 0.35 * std::exp(-7 * t) + wobble;
    EpochRecord row;
    row.phase = phase;
    row.seed = seed;
    row.epoch = epoch;
    row.train_loss = 0.22 + 0.48 * std::exp(-5 * t) + wobble;
    row.train = metric + 0.03 * t;
    row.validation = metric;
    row.test = metric - 0.006;
    if (!estimator && epoch % 2 == 1)  // evaluated every second epoch
      row.train = row.validation = row.test = std::numeric_limits<double>::quiet_NaN();
    row.learning_rate = epoch < 5 ? 0.002 * double(epoch + 1) : 0.005 * (1 + std::cos(3.14159 * t));
    row.temperature = estimator && epoch > 5 ? std::pow(0.97, double(epoch - 5)) : 1;
    row.seconds = estimator ? 0.11 : 0.19;
    row.sample_seconds = estimator ? 0 : 0.02;
    row.peak_bytes = estimator ? 61'000'000 : 148'000'000;
    record.epochs.push_back(row);
  }
}

inline LayerAttention attention_layer(size_t layer) {
  LayerAttention out;
  for (size_t bin = 0; bin < 20; ++bin) {
    double distance = (double(bin) / 20 - (0.45 + 0.15 * double(layer))) / 0.16;
    out.entropy_histogram.push_back(std::round(2200 * std::exp(-distance * distance / 2)));
  }
  double graph = 0.62 - 0.13 * double(layer), self = 0.18;
  out.mean_entropy = 1.4 + 0.3 * double(layer);
  out.share_by_type = {graph, 1 - graph - self, self};
  for (size_t k = 1; k <= 10; ++k)
    out.top_sums.push_back(1 - std::exp(-double(k) / (2.2 + double(layer))));
  out.edges_kept = 10'000 * (10 - 2 * layer);
  return out;
}

inline void add_details(RunDetails& details) {
  for (size_t layer = 0; layer < 4; ++layer) details.attention.push_back(attention_layer(layer));
  details.degree_bounds = {1, 2, 4, 8, 16, 32, 64};
  details.degree_histogram = {0, 4, 396, 9'600, 0, 3};
  details.class_names = {"no mine", "mine"};
  details.confusion = {{1912, 88}, {131, 369}};
  for (size_t i = 0; i <= 100; ++i) {
    double x = double(i) / 100;
    details.roc_false_positive.push_back(x);
    details.roc_true_positive.push_back(std::pow(x, 0.16));
  }
  details.mistakes = {{"alice <b>", "clear", "mine", 0.998}, {"17", "mine", "clear", 0.91}};
  details.steps = {{"read the data", 0.08, 9'500'000, 0.05, 9'100'000},
                   {"expander", 0.64, 14'000'000, 0.5, 14'200'000},
                   {"estimator", 13.2, 61'000'000, 11.0, 64'000'000},
                   {"scores", 0.21, 43'000'000, 0.3, 45'000'000},
                   {"final network, 3 seeds", 57.1, 148'000'000, 66.0, 155'000'000},
                   {"predictions", 0.3, 96'000'000, 0.3, 90'000'000}};
  details.constant_test = 0.5;
  details.edgeless_test = 0.7;
  for (size_t i = 0; i <= 100; ++i) {
    double x = double(i) / 100;
    details.recall.push_back(x);
    details.precision.push_back(1 - 0.8 * x * x);
  }
  for (size_t b = 0; b < 10; ++b) {
    details.calibration_predicted.push_back(0.05 + 0.1 * double(b));
    details.calibration_right.push_back(0.02 + 0.098 * double(b));
    details.calibration_nodes.push_back(1000 - 90 * b);
  }
  for (const char* node : {"811", "818", "a rather long name"}) {
    NodeAttention look{node, {}};
    for (size_t layer = 0; layer < 4; ++layer) {
      auto& seen = look.layers.emplace_back();
      for (size_t i = 0; i < 10; ++i)
        seen.push_back({std::to_string(700 + 13 * i + layer), i % 3, 0.5 / double(1 + i + layer)});
    }
    details.looks.push_back(look);
  }
  details.made = {"2026-01-02 03:04 UTC", "0.1.0", "avx2", "spex train minesweeper --seeds 3"};
  details.spectral_gap = 0.64;
  details.required_gap = 0.6;
}

inline RunRecord record() {
  RunRecord record;
  RunSummary& s = record.summary;
  s.data = "minesweeper";
  s.synthetic = true;
  s.nodes = 10'000;
  s.edges = 78'804;
  s.attention_edges = 388'804;
  s.metric = "roc_auc";
  s.model = "spexphormer";
  s.test_mean = 0.8951;
  s.test_std = 0.0032;
  s.edges_kept_percent = 18.01;
  s.estimator_test = 0.8264;
  s.estimator = {120, 0.11, 0, 61'000'000, 2'161};
  s.final = {100, 0.19, 0.02, 148'000'000, 81'922};
  s.seeds = {{0, 0.9012, 0.8931, 92}, {1, 0.9057, 0.8988, 88}, {2, 0.8990, 0.8934, 98}};
  s.threads = 2;
  s.seconds = 71.5;
  s.peak_rss_bytes = 241'000'000;
  add_details(record.details);
  add_phase(record, "estimator", 0, 120);
  for (size_t seed = 0; seed < 3; ++seed) add_phase(record, "spexphormer", seed, 100);
  Config config;
  config.data = s.data;
  record.config = config_keys(config);
  return record;
}

// The same run by the model that has no estimator.
inline RunRecord exphormer_record() {
  RunRecord r = record();
  r.summary.model = "exphormer";
  r.summary.estimator = {};
  r.summary.estimator_test = 0;
  r.summary.edges_kept_percent = 100;
  r.details.attention.clear();
  std::erase_if(r.epochs, [](const EpochRecord& row) { return row.phase == "estimator"; });
  for (EpochRecord& row : r.epochs) row.phase = r.summary.model;
  return r;
}

}  // namespace spex::example
