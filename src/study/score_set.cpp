#include <fmt/format.h>
#include <spex/core/error.h>
#include <spex/core/log.h>
#include <spex/core/stopwatch.h>
#include <spex/core/text.h>
#include <spex/graph/expander.h>
#include <spex/model/spexphormer.h>
#include <spex/run/phases.h>
#include <spex/study/score_set.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "study/training.h"

namespace spex {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLayers = 4;  // as in the paper
const std::vector<double> kRates = {0.003, 0.01, 0.03};
constexpr size_t kRateSeeds = 2;  // networks that a learning rate is judged by

// The paper has 10 for Actor and 30 for Photo, "to balance expander and graph edges".
size_t expander_degree(const CsrGraph& graph) {
  double average = static_cast<double>(graph.edges()) / static_cast<double>(graph.nodes());
  auto even = 2 * static_cast<size_t>(average / 2 + 0.5);
  return std::clamp<size_t>(even, 10, 30);
}

// One problem, its settings, and the folder that its networks are kept in.
class ScoreTrainer {
 public:
  ScoreTrainer(const StudyRequest& request, Scenario scenario)
      : config_(request.config), hooks_(request.hooks) {
    config_.expander.degree =
        scenario == Scenario::expander ? expander_degree(request.data.graph) : 0;
    phase_ = config_.phase("estimator");
    auto& options = dynamic_cast<EstimatorOptions&>(*phase_.model);
    options.layers = kLayers;
    options.estimators = 1;
    problem_ = make_problem(request.data, config_);
    if (scenario == Scenario::graph) leave_graph_edges();
    folder_ = request.out / "scores" / (scenario == Scenario::graph ? "graph" : "expander");
    claim_folder(folder_, config_);
    trainings_ = request.widths.size() *
                 (request.seeds + (kRates.size() - 1) * std::min(kRateSeeds, request.seeds));
  }

  const Problem& problem() const { return problem_; }
  size_t degree() const { return config_.expander.degree; }

  // The network's scores, from its file if there is one.
  Scores scores(size_t width, double rate, size_t seed) {
    fs::path file = folder_ / fmt::format("width-{}", width) / fmt::format("rate-{}", rate) /
                    fmt::format("seed-{}.safetensors", seed);
    asked_.insert(file);
    if (!fs::exists(file)) train(width, rate, seed, file);
    return load_scores(file, problem_.attention, problem_.fingerprint);
  }

 private:
  void leave_graph_edges() {
    AugmentOptions options;
    options.self_loops = false;
    problem_.attention = augment(problem_.data.graph, {}, options);
    if (phase_.model->needs().edge_features) use_edge_features(problem_.attention, problem_.data);
    problem_.transposed = transpose(problem_.attention);
    problem_.fingerprint = run_fingerprint(problem_.attention, problem_.data_fingerprint);
  }

  void train(size_t width, double rate, size_t seed, const fs::path& file) {
    Stopwatch watch;
    Phase phase = phase_;
    dynamic_cast<EstimatorOptions&>(*phase.model).width = width;
    phase.recipe.learning_rate = rate;
    TrainedNetwork network = train_network(phase, problem_, config_, seed, hooks_);
    Scores scores = attention_scores(*network.model, phase, problem_, network.temperature);
    scores.metadata["validation"] = fmt::to_string(network.validation);
    scores.metadata["test"] = fmt::to_string(network.test);
    fs::create_directories(file.parent_path());
    save_scores(file, scores, problem_.fingerprint);
    log("width {}, rate {}, seed {}: validation {:.2f}%, {:.1f} s; {} trainings left", width, rate,
        seed, 100 * network.validation, watch.seconds(), trainings_ - asked_.size());
  }

  Config config_;
  RunHooks hooks_;
  Phase phase_;
  Problem problem_;
  fs::path folder_;
  size_t trainings_ = 0;
  std::set<fs::path> asked_;
};

double recorded(const Scores& scores, const std::string& key) {
  auto found = scores.metadata.find(key);
  require(found != scores.metadata.end(), "a file of scores of the study has no {}", key);
  return parse_real(found->second, key);
}

// The rate with the best mean validation metric over the first seeds; the smaller of equals.
double best_rate(ScoreTrainer& trainer, size_t width, size_t seeds) {
  double best = kRates.front(), best_score = -1e30;
  for (double rate : kRates) {
    double score = 0;
    for (size_t s = 0; s < seeds; ++s)
      score += recorded(trainer.scores(width, rate, s), "validation");
    if (score > best_score) best = rate, best_score = score;
  }
  return best;
}

}  // namespace

std::string_view name(Scenario scenario) {
  return scenario == Scenario::graph ? "graph alone" : "with expander";
}

ScoreSet make_score_set(const StudyRequest& request, Scenario scenario) {
  ScoreTrainer trainer(request, scenario);
  ScoreSet set;
  set.scenario = scenario;
  set.graph = trainer.problem().attention;
  set.expander_degree = trainer.degree();
  set.layers = kLayers;
  for (size_t width : request.widths) {
    WidthScores& scores = set.widths.emplace_back();
    scores.width = width;
    scores.learning_rate = best_rate(trainer, width, std::min(kRateSeeds, request.seeds));
    for (size_t seed = 0; seed < request.seeds; ++seed) {
      scores.seeds.push_back(trainer.scores(width, scores.learning_rate, seed));
      scores.validation.push_back(recorded(scores.seeds.back(), "validation"));
      scores.test.push_back(recorded(scores.seeds.back(), "test"));
    }
  }
  for (size_t i = 0; i < set.graph.nodes(); ++i)
    if (set.graph.offsets[i + 1] - set.graph.offsets[i] >= 2)
      set.rows.push_back(static_cast<NodeId>(i));
  require(!set.rows.empty(), "no node has two neighbours to choose between");
  return set;
}

std::vector<ScoreSet> make_score_sets(const StudyRequest& request) {
  std::vector<ScoreSet> sets;
  for (Scenario scenario : {Scenario::graph, Scenario::expander})
    sets.push_back(make_score_set(request, scenario));
  return sets;
}

std::vector<std::string> score_set_choices(const std::vector<ScoreSet>& sets) {
  std::vector<std::string> choices = {
      "Networks are the estimator with four layers at each width; scores are those of a seed's "
      "best "
      "validation epoch, and runs that went badly are kept.",
      fmt::format("The learning rate of a width is that of {} with the best mean validation over "
                  "its first {} seeds; epochs and temperature are the preset's.",
                  fmt::join(kRates, ", "), kRateSeeds)};
  for (const ScoreSet& set : sets) {
    std::string widths;
    for (const WidthScores& w : set.widths) {
      double mean = std::accumulate(w.validation.begin(), w.validation.end(), 0.0) /
                    static_cast<double>(w.validation.size());
      widths += fmt::format("{}width {}: rate {}, validation {:.1f}%", widths.empty() ? "" : "; ",
                            w.width, w.learning_rate, 100 * mean);
    }
    std::string edges =
        set.scenario == Scenario::graph
            ? "graph edges only, no self-loops"
            : fmt::format("expander of degree {} and self-loops", set.expander_degree);
    choices.push_back(fmt::format(
        "{}: {}. {}. {} of {} rows have fewer than two neighbours and are left out.",
        name(set.scenario), edges, widths, set.graph.nodes() - set.rows.size(), set.graph.nodes()));
  }
  return choices;
}

void load_row(std::vector<float>& out, const ScoreSet& set, const Scores& scores, size_t layer,
              NodeId node) {
  EdgeOffset begin = set.graph.offsets[node];
  out.resize(set.graph.offsets[node + 1] - begin);
  to_float(out, scores.layers[layer].span().subspan(begin, out.size()));
}

}  // namespace spex
