// What a run starts from where there is neither preset nor file. The network with a local branch is
// tried in a few shapes, each trained for some epochs and judged on the validation nodes of the
// split that the run uses; test nodes are not looked at. Graphs for which that takes too long get
// settings by rule.
#include <fmt/format.h>
#include <spex/core/error.h>
#include <spex/core/log.h>
#include <spex/data/splits.h>
#include <spex/model/spexphormer.h>
#include <spex/run/defaults.h>
#include <spex/run/trial.h>
#include <spex/train/objective.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace spex {
namespace {

constexpr size_t kLargeGraph = 200'000;   // nodes; above, batches and fewer layers
constexpr size_t kLargestTrial = 30'000;  // nodes that shapes are tried on
constexpr size_t kMostTrialEdges = 3'000'000;
constexpr size_t kPatience = 250;     // evaluations; 100 ended perceptrons too early
constexpr size_t kJudges = 500;       // validation nodes that are enough to choose a shape by
constexpr size_t kMostFolds = 5;      // where there are fewer
constexpr double kLeastGain = 0.002;  // of attention, which takes more time
constexpr double kLevel = 1;          // standard errors behind the best that tell shapes apart
constexpr size_t kFewNodes = 5000;    // up to which trials are longer and more networks averaged
constexpr size_t kLeastMembers = 3, kMostMembers = 5;
constexpr double kDeviations = 5;  // from what chance gives, to call class shares different
constexpr std::string_view kLocal = "spexphormer-local";

// The paper's network.
void suit_spexphormer(Config& config, const DataFacts& facts) {
  bool large = facts.nodes > kLargeGraph;
  auto& final = config.options<SpexphormerOptions>("spexphormer");
  Recipe& recipe = config.final().recipe;
  final.degrees = large ? std::vector<size_t>{10, 10} : std::vector<size_t>{10, 5, 5, 5};
  final.width = large ? 128 : 64;
  final.heads = large ? 1 : 2;
  final.dropout = large ? 0.2 : 0.3;
  recipe.batch_size = large ? 1000 : 0;
  recipe.learning_rate = large ? 0.001 : 0.01;
  config.options<EstimatorOptions>("estimator").width = large ? 8 : 4;
  log("no preset: {} layers sampling {} neighbours, width {}, {} heads, {}; expander degree {}",
      final.degrees.size(), fmt::join(final.degrees, "/"), final.width, final.heads,
      large ? fmt::format("batches of {}", recipe.batch_size)
            : std::string("the whole graph at once"),
      config.expander.degree);
}

// A shape of the network with a local branch: settings of its section. All say the same ones: what a
// search begins with is a shape whole, whatever its default has.
struct Candidate {
  const char* what;
  const char* conv;
  size_t layers, width, heads;
  const char* norm;
  bool residual, pre_linear;
  double dropout, weight_decay;

  std::vector<std::string> settings() const {
    return {fmt::format("conv={}", conv),
            fmt::format("layers={}", layers),
            fmt::format("width={}", width),
            fmt::format("heads={}", heads),
            fmt::format("norm={}", norm),
            fmt::format("residual={}", residual),
            fmt::format("dropout={}", dropout),
            fmt::format("pre_linear={}", pre_linear),
            fmt::format("weight_decay={}", weight_decay)};
  }
};

constexpr Candidate kCandidates[] = {
    {"features alone", "none", 2, 128, 2, "layer", true, false, 0.5, 5e-4},
    {"features with much dropout", "none", 2, 128, 2, "layer", true, false, 0.8, 5e-4},
    {"2 convolutions", "gcn", 2, 128, 2, "none", false, false, 0.5, 5e-4},
    {"2 with residuals", "gcn", 2, 128, 2, "layer", true, false, 0.5, 0.02},
    {"2 means beside the node itself", "sage", 2, 64, 2, "none", false, true, 0.5, 0.005},
    {"2 weighing neighbours", "gat", 2, 128, 4, "layer", true, false, 0.5, 0.02},
    {"4 convolutions", "gcn", 4, 128, 2, "batch", true, false, 0.5, 5e-4},
    {"10 convolutions", "gcn", 10, 64, 2, "batch", true, false, 0.2, 0},
};

Config with(Config config, const std::vector<std::string>& settings) {
  for (const std::string& each : settings)
    apply_setting(config, fmt::format("{}.{}", kLocal, each));
  return config;
}

size_t trial_epochs(const DataFacts& facts) {
  return facts.nodes <= kFewNodes ? 200 : 100;
}

// Where validation nodes are few, shapes are judged by several folds of them and the training nodes.
size_t trial_folds(const DataFacts& facts) {
  size_t validation = std::max<size_t>(1, facts.validation_nodes);
  return std::clamp<size_t>((kJudges + validation - 1) / validation, 1, kMostFolds);
}

// In all folds.
size_t trial_judges(const DataFacts& facts) {
  return trial_folds(facts) * facts.validation_nodes;
}

// Of a share measured on so many nodes.
double standard_error(double score, size_t judges) {
  double share = std::clamp(score, 0.0, 1.0);
  return std::sqrt(share * (1 - share) / static_cast<double>(std::max<size_t>(1, judges)));
}

// The best validation metric of a short training, on average over the folds; over fewer of them
// where it is three standard errors below `best` already.
double tried(Trials& trials, Config config, size_t epochs, size_t folds, double best,
             const Stop& stop) {
  Recipe& recipe = config.final().recipe;
  recipe.epochs = epochs;
  recipe.patience = 0;  // some shapes begin slowly
  double sum = 0, mean = 0;
  for (size_t fold = 0, judges = 0; fold < folds; ++fold) {
    TrainState state;
    std::shared_ptr<const Problem> problem = trials.problem(config, stop, {fold, Division::none});
    require(problem && continue_trial(*problem, config, config.seed, epochs, state, stop),
            "stopped while shapes of the network were tried; nothing was written");
    sum += state.best_validation;
    mean = sum / static_cast<double>(fold + 1);
    judges += problem->split.validation.size();
    double error = standard_error(best, judges);  // 0 where the metric is no share
    if (error > 0 && mean < best - 3 * error) break;
  }
  return mean;
}

// A shape that was tried, and its validation metric.
struct TriedShape {
  std::string what;
  Config config;
  double score = 0;
};

// All shapes, the best first; of equals the simpler one. Attention beside the best is one of them
// where it adds to it, and then comes first.
std::vector<TriedShape> tried_shapes(const Dataset& data, const Config& start,
                                     const DataFacts& facts, const Stop& stop) {
  size_t epochs = trial_epochs(facts), folds = trial_folds(facts);
  log("no preset: trying {} shapes of the network for {} epochs each{}", std::size(kCandidates) + 1,
      epochs, folds > 1 ? fmt::format(", in up to {} folds", folds) : std::string());
  std::vector<TriedShape> shapes;
  double best = -1e30;
  Trials trials(data);
  std::string scores;
  auto consider = [&](const std::string& what, const Config& config) {
    double score = tried(trials, config, epochs, folds, best, stop);
    scores += fmt::format("{}{} {:.1f}", scores.empty() ? "" : ", ", what, 100 * score);
    best = std::max(best, score);
    return TriedShape{what, config, score};
  };
  for (const Candidate& each : kCandidates)
    shapes.push_back(consider(each.what, with(start, each.settings())));
  std::ranges::stable_sort(shapes, std::greater(), &TriedShape::score);
  const TriedShape& first = shapes.front();
  double enough = first.score + worthwhile_gain(first.score, trial_judges(facts));
  TriedShape attentive =
      consider(first.what + " and attention", with(first.config, {"attention_layers=1"}));
  if (attentive.score > enough) shapes.insert(shapes.begin(), attentive);
  log("tried by {} validation nodes{}: {}", facts.validation_nodes,
      folds > 1 ? fmt::format(" of each of {} folds", folds) : std::string(), scores);
  return shapes;
}

// Networks that are averaged: of the best shape and, in turn, of those whose validation metric is
// level with its own. What differs in shape makes other mistakes.
void take_best_shapes(Config& config, const std::vector<TriedShape>& shapes,
                      const DataFacts& facts) {
  const TriedShape& best = shapes.front();
  double behind = kLevel * standard_error(best.score, trial_judges(facts));
  std::vector<Phase> networks;
  std::vector<std::string> names;
  for (const TriedShape& shape : shapes) {
    bool level = shape.score >= best.score - behind;
    if (!level || networks.size() == kMostMembers) break;
    networks.push_back(shape.config.final());
    names.push_back(shape.what);
  }
  take_in_turn(config, networks);
  // Chance weighs most where nodes are few, and networks take seconds there.
  config.members =
      std::max(networks.size(), facts.nodes <= kFewNodes ? kMostMembers : kLeastMembers);
  log("chosen: {}", fmt::join(names, "; "));
}

void choose_shapes(Config& config, const Dataset& data, const DataFacts& facts, const Stop& stop) {
  log("{} nodes, {} for training{}", facts.nodes, facts.train_nodes,
      std::isnan(facts.homophily)
          ? ""
          : fmt::format("; homophily among those {:.2f} (0: by chance)", facts.homophily));
  Config plain = with(config, {"attention_layers=0", fmt::format("patience={}", kPatience)});
  take_best_shapes(config, tried_shapes(data, plain, facts, stop), facts);
}

void suit_local(Config& config, const Dataset& data, const DataFacts& facts, const Stop& stop) {
  if (facts.nodes <= kLargestTrial && facts.edges <= kMostTrialEdges) {
    choose_shapes(config, data, facts, stop);
    return;
  }
  config = with(config, {"conv=gcn", "layers=3", "width=128", "dropout=0.3", "attention_layers=1",
                         "degree=10", "weight_decay=0"});
  if (facts.nodes > kLargeGraph) config = with(config, {"batch_size=1000", "local_cap=10"});
  log("no preset, and {} nodes with {} edges are too many to try shapes on: 3 convolutions, "
      "attention to 10 neighbours beside the last",
      facts.nodes, facts.edges);
}

// Two samples of one law have a statistic of chi-square, whose mean is the degrees of freedom and
// whose variance is twice that.
bool class_shares_differ(const Labels& labels, const Split& split) {
  if (split.train.size() == 0 || split.validation.size() == 0) return false;
  std::vector<double> train = class_counts(labels, split.train.span());
  std::vector<double> validation = class_counts(labels, split.validation.span());
  double factor = std::sqrt(static_cast<double>(split.validation.size()) /
                            static_cast<double>(split.train.size()));
  double statistic = 0, freedom = -1;
  for (size_t c = 0; c < labels.outputs; ++c) {
    double both = train[c] + validation[c];
    if (both == 0) continue;
    statistic += std::pow(train[c] * factor - validation[c] / factor, 2) / both;
    ++freedom;
  }
  return freedom > 0 && statistic > freedom + kDeviations * std::sqrt(2 * freedom);
}

}  // namespace

double worthwhile_gain(double score, size_t judges) {
  return std::max(kLeastGain, 0.5 * standard_error(score, judges));
}

DataFacts facts_of(const Dataset& data, const Split& split) {
  DataFacts facts;
  facts.nodes = data.nodes();
  facts.edges = data.graph.edges();
  facts.train_nodes = split.train.size();
  facts.validation_nodes = split.validation.size();
  if (data.labels.task != Task::classes) return facts;
  facts.shares_differ = class_shares_differ(data.labels, split);
  std::vector<int32_t> known(data.nodes(), -1);
  std::vector<double> ends(data.labels.outputs, 0.0);
  for (NodeId node : split.train) known[node] = data.labels.classes[node];
  double same = 0, all = 0;
  for (size_t i = 0; i < data.nodes(); ++i)
    for (EdgeOffset e = data.graph.offsets[i]; known[i] >= 0 && e < data.graph.offsets[i + 1];
         ++e) {
      int32_t other = known[data.graph.neighbours[e]];
      if (other < 0) continue;
      ++all;
      ++ends[static_cast<size_t>(other)];
      same += other == known[i] ? 1 : 0;
    }
  if (all == 0) return facts;
  double by_chance = 0;
  for (double end : ends) by_chance += std::pow(end / all, 2);
  if (by_chance < 1) facts.homophily = (same / all - by_chance) / (1 - by_chance);
  return facts;
}

std::string default_model(const Dataset& data) {
  return data.nodes() > kLargeGraph ? "spexphormer" : std::string(kLocal);
}

bool tries_shapes(const std::string& model) {
  return model == kLocal;
}

std::vector<Config> shapes_of(const Config& start) {
  std::vector<Config> shapes;
  if (!tries_shapes(start.model)) return shapes;
  Config plain = with(start, {"attention_layers=0"});
  plain.variants.clear();
  for (const Candidate& each : kCandidates) shapes.push_back(with(plain, each.settings()));
  return shapes;
}

Config default_config(const Dataset& data, const std::string& model, const SplitConfig& split,
                      const Stop& stop) {
  Config config(model);
  config.split = split;
  if (model != "spexphormer" && model != kLocal) return config;
  DataFacts facts = facts_of(data, choose_split(data, split));
  bool counted = Objective(data.labels, split.metric).metric() == Metric::accuracy;
  if (counted && facts.shares_differ) {
    config.final().recipe.class_weights = ClassWeights::validation;
    log("no preset: training nodes have other class shares than validation nodes; what is learned "
        "is for the latter's");
  }
  if (model == kLocal)
    suit_local(config, data, facts, stop);
  else
    suit_spexphormer(config, facts);
  return config;
}

}  // namespace spex
