#include <spex/core/error.h>
#include <spex/core/files.h>
#include <spex/run/record.h>
#include <spex/run/run.h>

#include <algorithm>

#include "run/json_fields.h"

namespace spex {

// The keys of summary.json and details.json. Outside the anonymous namespace: json_fields.h finds
// these by their argument.
void fields(auto& io, SeedResult& s) {
  io("seed", s.seed);
  io("val", s.validation);
  io("test", s.test);
  io("best_epoch", s.best_epoch);
}

void fields(auto& io, MetricValue& m) {
  io("name", m.name);
  io("value", m.value);
}

void fields(auto& io, RunSummary& s) {
  io("data", s.data);
  io("synthetic", s.synthetic);
  io("nodes", s.nodes);
  io("edges", s.edges);
  io("attention_edges", s.attention_edges);
  io("metric", s.metric);
  io("model", s.model);
  io("test_mean", s.test_mean);
  io("test_std", s.test_std);
  io("edges_kept_percent", s.edges_kept_percent);
  io.object("estimator", [&](auto& inner) {
    inner("test", s.estimator_test);
    inner("epochs", s.estimator.epochs);
    inner("epoch_seconds", s.estimator.epoch_seconds);
    inner("peak_bytes", s.estimator.peak_bytes);
    inner("parameters", s.estimator.parameters);
  });
  io.object("final", [&](auto& inner) {
    inner("seeds", s.seeds);
    inner("epochs", s.final.epochs);
    inner("epoch_seconds", s.final.epoch_seconds);
    inner("sample_seconds", s.final.sample_seconds);
    inner("peak_bytes", s.final.peak_bytes);
    inner("parameters", s.final.parameters);
  });
  io("test_metrics", s.test_metrics);
  io("threads", s.threads);
  io("seconds", s.seconds);
  io("peak_rss_bytes", s.peak_rss_bytes);
}

void fields(auto& io, LayerAttention& layer) {
  io("entropy_histogram", layer.entropy_histogram);
  io("mean_entropy", layer.mean_entropy);
  io("share_by_type", layer.share_by_type);
  io("top_sums", layer.top_sums);
  io("edges_kept", layer.edges_kept);
  io.optional("tied", layer.tied);
}

void fields(auto& io, PipelineStep& step) {
  io("name", step.name);
  io("seconds", step.seconds);
  io("peak_bytes", step.peak_bytes);
  io("forecast_seconds", step.forecast_seconds);
  io("forecast_bytes", step.forecast_bytes);
}

void fields(auto& io, Mistake& m) {
  io("node", m.node);
  io("truth", m.truth);
  io("prediction", m.prediction);
  io("size", m.size);
}

void fields(auto& io, SeenNeighbour& n) {
  io("node", n.node);
  io("type", n.type);
  io("score", n.score);
}

void fields(auto& io, NodeAttention& n) {
  io("node", n.node);
  io("layers", n.layers);
}

void fields(auto& io, Provenance& p) {
  io("date", p.date);
  io("version", p.version);
  io("instruction_set", p.instruction_set);
  io("command", p.command);
}

void fields(auto& io, RunDetails& d) {
  io("attention", d.attention);
  io("degree_bounds", d.degree_bounds);
  io("degree_histogram", d.degree_histogram);
  io("class_names", d.class_names);
  io("confusion", d.confusion);
  io("roc_false_positive", d.roc_false_positive);
  io("roc_true_positive", d.roc_true_positive);
  io("mistakes", d.mistakes);
  io("steps", d.steps);
  io("spectral_gap", d.spectral_gap);
  io("required_gap", d.required_gap);
  io.optional("constant_test", d.constant_test);
  io.optional("edgeless_test", d.edgeless_test);
  io.optional("networks", d.networks);
  io.optional("recall", d.recall);
  io.optional("precision", d.precision);
  io.optional("calibration_predicted", d.calibration_predicted);
  io.optional("calibration_right", d.calibration_right);
  io.optional("calibration_nodes", d.calibration_nodes);
  io.optional("true_values", d.true_values);
  io.optional("predicted_values", d.predicted_values);
  io.optional("looks", d.looks);
  io.optional("made", d.made);
}

namespace {

void check_lengths(const RunDetails& d, const std::string& source) {
  require(d.degree_histogram.empty() || d.degree_bounds.size() == d.degree_histogram.size() + 1,
          "{}: degree_bounds has {} values for {} bins; it needs one more than there are bins",
          source, d.degree_bounds.size(), d.degree_histogram.size());
  require(d.roc_false_positive.size() == d.roc_true_positive.size(),
          "{}: roc_false_positive has {} values, roc_true_positive {}", source,
          d.roc_false_positive.size(), d.roc_true_positive.size());
  require(d.recall.size() == d.precision.size() &&
              d.true_values.size() == d.predicted_values.size() &&
              d.calibration_predicted.size() == d.calibration_nodes.size() &&
              d.calibration_right.size() == d.calibration_nodes.size(),
          "{}: the lists of a chart differ in length", source);
  size_t classes = d.confusion.size();
  bool square = std::ranges::all_of(d.confusion, [&](auto& row) { return row.size() == classes; });
  require(square, "{}: confusion has {} rows, so each must have {} values", source, classes,
          classes);
}

std::string read_part(const std::filesystem::path& run, const char* name) {
  require(std::filesystem::exists(run / name),
          "{} has no {}: it is not the directory of a finished run", run.string(), name);
  return read_text(run / name);
}

}  // namespace

std::string to_json(const RunSummary& summary) {
  return write_json(summary, 2);
}

std::string to_json(const RunDetails& details) {
  return write_json(details, -1);
}

RunSummary parse_summary(const std::string& text, const std::string& source) {
  return read_json<RunSummary>(text, source);
}

RunDetails parse_details(const std::string& text, const std::string& source) {
  auto details = read_json<RunDetails>(text, source);
  check_lengths(details, source);
  return details;
}

std::vector<EpochRecord> first_training(const RunRecord& record) {
  std::vector<EpochRecord> rows;
  for (const EpochRecord& row : record.epochs)
    if (row.phase == record.summary.model && (rows.empty() || row.seed == rows.front().seed))
      rows.push_back(row);
  return rows;
}

RunRecord load_record(const std::filesystem::path& run) {
  auto source = [&](const char* name) { return (run / name).string(); };
  RunRecord record;
  record.summary = parse_summary(read_part(run, "summary.json"), source("summary.json"));
  record.details = parse_details(read_part(run, "details.json"), source("details.json"));
  record.epochs = parse_csv(read_part(run, "metrics.csv"), source("metrics.csv"));
  read_part(run, "config.toml");
  record.config = config_keys(read_run_config({run}));
  return record;
}

}  // namespace spex
