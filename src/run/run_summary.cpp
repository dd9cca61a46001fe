#include "run/run_summary.h"

#include <spex/core/memory.h>
#include <spex/sample/batch.h>

#include <algorithm>
#include <cmath>

namespace spex {
namespace {

double median(std::vector<double> values) {
  if (values.empty()) return 0.0;
  auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

PhaseSummary summarise(const std::vector<EpochRecord>& records, const std::string& phase) {
  PhaseSummary summary;
  std::vector<double> seconds, sampling;
  for (const EpochRecord& r : records) {
    if (r.phase != phase) continue;
    summary.epochs = std::max(summary.epochs, r.epoch + 1);
    summary.peak_bytes = std::max(summary.peak_bytes, r.peak_bytes);
    seconds.push_back(r.seconds);
    sampling.push_back(r.sample_seconds);
  }
  summary.epoch_seconds = median(seconds);
  summary.sample_seconds = median(sampling);
  return summary;
}

// The epoch that the trainer kept: of equally good ones that with the sharpest attention, then the
// first. Where training began its search for the best anew, what came before does not count.
const EpochRecord* best_record(const std::vector<EpochRecord>& records, const Phase& phase,
                               size_t seed) {
  size_t restart = phase.model->needs().restart_epoch;
  const EpochRecord* best = nullptr;
  for (const EpochRecord& r : records) {
    if (r.phase != phase.name || r.seed != seed) continue;
    if (restart > 0 && r.epoch == restart) best = nullptr;
    if (std::isnan(r.validation)) continue;
    bool sharper = best && r.temperature < best->temperature;
    if (!best || r.validation > best->validation || (sharper && r.validation == best->validation))
      best = &r;
  }
  return best;
}

double edges_kept_percent(const AttentionGraph& graph, const Config& config) {
  SamplingOptions sampling = config.final().model->needs().sampling;
  if (sampling.degrees.empty() || graph.edges() == 0) return 100.0;
  std::erase(sampling.degrees, 0);  // of layers that do not attend
  double percent = 0;
  auto shares = kept_share(graph, sampling.degrees);
  for (double share : shares) percent += 100.0 * share / static_cast<double>(shares.size());
  return percent;
}

}  // namespace

size_t first_network(const Config& config) {
  return config.seed * config.members;
}

std::vector<SeedResult> network_results(const Config& config,
                                        const std::vector<EpochRecord>& records) {
  std::vector<SeedResult> results;
  std::vector<Phase> phases = network_phases(config);
  for (size_t i = 0; i < config.seeds * config.members; ++i) {
    size_t seed = first_network(config) + i;
    if (const EpochRecord* best = best_record(records, phases[turn_of(seed, config, phases)], seed))
      results.push_back({seed, best->validation, best->test, best->epoch});
  }
  return results;
}

Moments tests_of(const std::vector<SeedResult>& results) {
  std::vector<double> tests;
  for (const SeedResult& result : results) tests.push_back(result.test);
  return moments(tests);
}

RunSummary summarise_run(const Problem& problem, const Config& config,
                         const std::vector<EpochRecord>& records, std::vector<SeedResult> seeds) {
  RunSummary s;
  s.data = problem.data.name;
  s.synthetic = problem.data.synthetic;
  s.nodes = problem.data.nodes();
  s.edges = problem.data.graph.edges();
  s.attention_edges = problem.attention.edges();
  s.model = config.model;
  s.seeds = std::move(seeds);
  Moments test = tests_of(s.seeds);
  s.test_mean = test.mean;
  s.test_std = test.deviation;
  s.edges_kept_percent = edges_kept_percent(problem.attention, config);
  if (config.phases.size() > 1) s.estimator = summarise(records, config.phases.front().name);
  s.final = summarise(records, config.final().name);
  s.threads = config.threads;
  for (const EpochRecord& r : records) s.seconds += r.seconds;
  s.peak_rss_bytes = resident_memory().peak;
  return s;
}

}  // namespace spex
