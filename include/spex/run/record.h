// What a run leaves behind, as plain structs: what summary.json, metrics.csv and details.json hold
// and what the report shows. Metrics are fractions in [0, 1]; seconds and bytes are what they say.
#pragma once

#include <spex/config/config.h>
#include <spex/train/trainer.h>

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

namespace spex {

struct PhaseSummary {
  size_t epochs = 0;
  double epoch_seconds = 0;   // median
  double sample_seconds = 0;  // median, of one epoch
  size_t peak_bytes = 0;      // counted memory
  size_t parameters = 0;
};

struct SeedResult {
  size_t seed = 0;
  double validation = 0;
  double test = 0;
  size_t best_epoch = 0;
};

struct MetricValue {
  std::string name;
  double value = 0;
};

// summary.json
struct RunSummary {
  std::string data;
  bool synthetic = false;
  size_t nodes = 0;
  size_t edges = 0;  // directed
  size_t attention_edges = 0;
  std::string metric;
  std::string model;
  double test_mean = 0;
  double test_std = 0;  // over seeds, n - 1 in the denominator; 0 for one seed
  double edges_kept_percent = 0;
  double estimator_test = 0;  // at its best validation epoch
  PhaseSummary estimator;     // zeros for exphormer, or when scores came from a file
  PhaseSummary final;
  std::vector<SeedResult> seeds;
  std::vector<MetricValue> test_metrics;  // of the kept model: all that fit the labels
  size_t threads = 0;
  double seconds = 0;
  size_t peak_rss_bytes = 0;
};

// Where one layer of the estimator looks.
struct LayerAttention {
  // Nodes per bin: entropy / log(degree) in [0, 1], 20 equal bins.
  std::vector<double> entropy_histogram;
  double mean_entropy = 0;            // in nats
  std::vector<double> share_by_type;  // graph, expander, self-loop(, virtual): adds up to 1
  std::vector<double> top_sums;  // mean over nodes of the sum of the k largest scores, k = 1 .. 10
  size_t edges_kept = 0;         // by the final network's sample
  // Share of nodes with several neighbours at the largest score, far above the least.
  double tied = 0;
};

// One step of the pipeline against the planner's forecast.
struct PipelineStep {
  std::string name;
  double seconds = 0;
  size_t peak_bytes = 0;
  double forecast_seconds = 0;
  size_t forecast_bytes = 0;
};

// A test node that the network is wrong about.
struct Mistake {
  std::string node;  // as the data set calls it
  std::string truth, prediction;
  double size = 0;  // the prediction's probability; of a target, how far off it is
};

// Where a node looks: of each layer the neighbours with the largest scores.
struct SeenNeighbour {
  std::string node;
  size_t type = 0;  // of the edge: graph, expander, self-loop, virtual
  double score = 0;
};
struct NodeAttention {
  std::string node;
  std::vector<std::vector<SeenNeighbour>> layers;
};

// How a run was made.
struct Provenance {
  std::string date, version, instruction_set, command;
};

// details.json
struct RunDetails {
  std::vector<LayerAttention> attention;
  std::vector<size_t> degree_bounds;     // bin b holds degrees in [bounds[b], bounds[b + 1])
  std::vector<size_t> degree_histogram;  // nodes per bin
  std::vector<std::string> class_names;
  std::vector<std::vector<size_t>> confusion;  // [true][predicted] on the test nodes; classes only
  double constant_test = 0;  // the metric of one answer for all: the commonest class, or the mean
  // Of a perceptron of the same features; NaN: none was trained.
  double edgeless_test = std::numeric_limits<double>::quiet_NaN();
  std::vector<SeedResult> networks;       // alone, where several are averaged
  std::vector<double> recall, precision;  // as the threshold falls; two classes only
  // Ten bins of probability (of class 1, or of the predicted one): its mean, the share that was right,
  // and the nodes in it.
  std::vector<double> calibration_predicted, calibration_right;
  std::vector<size_t> calibration_nodes;
  std::vector<double> true_values, predicted_values;  // of up to 1000 test nodes; quantities only
  std::vector<NodeAttention> looks;                   // of the largest mistakes, and of some others
  Provenance made;
  std::vector<double> roc_false_positive, roc_true_positive;  // two classes or many labels (pooled)
  std::vector<Mistake> mistakes;  // the largest first; classes, or a single target
  std::vector<PipelineStep> steps;
  double spectral_gap = 0;
  double required_gap = 0;
};

struct RunRecord {
  RunSummary summary;
  RunDetails details;
  std::vector<EpochRecord> epochs;  // metrics.csv
  std::vector<ConfigKey> config;
};

// The rows of the first network that the last phase trained.
std::vector<EpochRecord> first_training(const RunRecord& record);

// What is written reads back to the same values; NaN becomes null in JSON and an empty field in
// CSV. Reading refuses what is missing or of the wrong kind, naming `source` and the place in it.
std::string to_json(const RunSummary& summary);
std::string to_json(const RunDetails& details);
RunSummary parse_summary(const std::string& text, const std::string& source);
RunDetails parse_details(const std::string& text, const std::string& source);
std::string to_csv(const std::vector<EpochRecord>& epochs);
std::string csv_line(const EpochRecord& epoch);  // one line of it, with its end
std::vector<EpochRecord> parse_csv(const std::string& text, const std::string& source);

// Everything from the files of a finished run directory: summary.json, details.json, metrics.csv,
// config.toml.
RunRecord load_record(const std::filesystem::path& run);

}  // namespace spex
