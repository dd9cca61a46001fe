#include <fmt/format.h>
#include <spex/data/splits.h>
#include <spex/run/phases.h>
#include <spex/run/trial.h>

#include <algorithm>
#include <cmath>

namespace spex {
namespace {

constexpr size_t kFewestJudges = 5;  // fewer tell nothing, nor how little they tell

std::string text_of(auto part, const std::string& name) {
  SettingList settings;
  settings.add_part(name, part);
  std::string text;
  for (const Setting& each : settings.settings()) text += each.name + "=" + each.text() + ";";
  return text;
}

// What the graphs of a configuration depend on.
std::string ground_key(const Config& config) {
  Needs needs = needs_of(config);
  return fmt::format("{}{}{}/{}/{}/{}/{};", needs.attention, needs.local, needs.edge_features,
                     needs.hops, needs.eigenvectors, needs.virtual_nodes,
                     fmt::join(needs.ball, ",")) +
         text_of(config.expander, "expander") + text_of(config.features, "features");
}

// What its problem depends on besides: the split and, where scores are needed, who gives them.
std::string problem_key(const Config& config, const Division& division) {
  std::string key =
      ground_key(config) + text_of(config.split, "split") +
      fmt::format("fold={};judges={};", division.fold, static_cast<int>(division.judges));
  if (!config.final().model->needs().scores) return key;
  return key + fmt::format("{};", config.seed) + to_toml(config.phases.front());
}

}  // namespace

const PreparedData& Trials::prepared(const FeatureConfig& features) {
  std::string key = text_of(features, "features");
  auto found = prepared_.find(key);
  if (found == prepared_.end()) found = prepared_.emplace(key, prepare(data_, features)).first;
  return found->second;
}

const Ground& Trials::ground(const Config& config) {
  std::string key = ground_key(config);
  auto found = grounds_.find(key);
  if (found == grounds_.end())
    found = grounds_.emplace(key, make_ground(prepared(config.features).data, config)).first;
  return found->second;
}

// Validation nodes stay whole where half of them do not give the metric: too few, or of one class.
void Trials::halve(Split& split, Division::Judges judges, Metric metric) const {
  Objective objective(data_.labels, metric);
  Matrix logits = Matrix::zeros(data_.nodes(), objective.outputs(), MemoryTag::activations);
  Split halves = judged_by_halves(split);
  bool first = std::isfinite(objective.score(logits, halves.validation.span()));
  bool second = std::isfinite(objective.score(logits, halves.test.span()));
  if (!first || !second || halves.test.size() < kFewestJudges) return;
  if (judges == Division::first_half) std::swap(halves.validation, halves.test);
  split = std::move(halves);
}

Split Trials::split(const SplitConfig& config, const Division& division) const {
  Split split = without_test(choose_split(data_, config), data_.labels, division.fold);
  if (division.judges != Division::none) halve(split, division.judges, config.metric);
  return split;
}

std::shared_ptr<const Problem> Trials::problem(const Config& asked, const Stop& stop,
                                               const Division& division) {
  Config config = asked;
  tell_scorers(config);
  std::shared_ptr<const Problem>& known = problems_[problem_key(config, division)];
  if (known) return known;
  auto made = std::make_shared<Problem>();
  static_cast<Ground&>(*made) = ground(config);
  made->split = split(config.split, division);
  made->preparation = prepared(config.features).preparation;
  made->preparation.targets = target_scaling(data_.labels, made->split, config.features);
  if (config.final().model->needs().scores) {
    TrainerHooks hooks;
    hooks.stop = stop;
    std::optional<Estimate> estimate = estimate_scores(*made, config, hooks);
    if (!estimate) return nullptr;
    made->scores = std::move(estimate->scores);
  }
  return known = made;
}

bool continue_trial(const Problem& problem, const Config& config, size_t seed, size_t epochs,
                    TrainState& state, const Stop& stop) {
  if (state.next_epoch >= epochs) return true;
  size_t reached = 0, all = config.final().recipe.epochs;
  bool stopped = false;
  TrainerHooks hooks;
  hooks.on_epoch = [&](const EpochRecord& record) { reached = record.epoch + 1; };
  hooks.stop = [&] {  // a training that comes to its end is not stopped there
    stopped = stop && stop();
    return stopped || (reached >= epochs && reached < all);
  };
  hooks.checkpoint = [](const TrainState&) {};  // asks for the state to be captured where it stops
  std::unique_ptr<Model> model = config.final().model->make(shape_of(problem, config), seed);
  bool done = train_phase(config.final(), *model, problem, config, seed, state, hooks);
  return done || !stopped;
}

bool steps_are_of_both_halves(const Config& config) {
  Needs needs = config.final().model->needs();
  return !needs.scores && needs.restart_epoch == 0 &&
         config.final().recipe.class_weights != ClassWeights::validation;
}

bool train_for_both_halves(const Problem& problem, const Config& config, size_t seed,
                           std::array<TrainState, 2>& halves, const Stop& stop) {
  Phase phase = config.final();
  const Recipe recipe = phase.recipe;
  phase.recipe.patience = 0;  // each half has its own
  std::unique_ptr<Model> model = phase.model->make(shape_of(problem, config), seed);
  std::array<bool, 2> open = {true, true};
  bool stopped = false;
  TrainerHooks hooks;
  hooks.on_epoch = [&](const EpochRecord& record) {
    if (std::isnan(record.validation)) return;  // not evaluated
    std::array<double, 2> scores = {record.validation, record.test};
    for (size_t half = 0; half < 2; ++half) {
      if (open[half]) keep_if_best(halves[half], scores[half], record, *model);
      size_t since = (record.epoch - halves[half].best_epoch) / recipe.evaluate_every;
      bool late = recipe.patience > 0 && since >= recipe.patience;
      open[half] = open[half] && !late && !halves[half].best.empty();
    }
  };
  hooks.stop = [&] {
    stopped = stop && stop();
    return stopped || (!open[0] && !open[1]);
  };
  TrainState state;
  train_phase(phase, *model, problem, config, seed, state, hooks);
  return !stopped;
}

}  // namespace spex
