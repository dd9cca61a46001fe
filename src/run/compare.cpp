#include <fmt/format.h>
#include <spex/core/error.h>
#include <spex/core/files.h>
#include <spex/core/log.h>
#include <spex/core/text.h>
#include <spex/run/compare.h>
#include <spex/run/score_text.h>

#include <algorithm>

#include "run/json_fields.h"
#include "run/moments.h"

namespace spex {

// The keys of compare.json; found by their argument.
void fields(auto& io, ComparedRun& r) {
  io("split", r.split);
  io("seed", r.seed);
  io("val", r.validation);
  io("test", r.test);
}

void fields(auto& io, EpochRecord& r) {
  io("epoch", r.epoch);
  io("train_loss", r.train_loss);
  io("validation", r.validation);
}

void fields(auto& io, ComparedModel& m) {
  io("model", m.model);
  io("test_mean", m.mean);
  io("test_std", m.deviation);
  io("best", m.best);
  io("within_noise", m.within_noise);
  io("epoch_seconds", m.epoch_seconds);
  io("seconds", m.seconds);
  io("peak_bytes", m.peak_bytes);
  io("parameters", m.parameters);
  io("runs", m.runs);
  io("curve", m.curve);
}

void fields(auto& io, Comparison& c) {
  io("data", c.data);
  io("metric", c.metric);
  io("models", c.models);
}

namespace {

namespace fs = std::filesystem;

std::vector<double> tests_of(const ComparedModel& model) {
  std::vector<double> tests;
  for (const ComparedRun& run : model.runs) tests.push_back(run.test);
  return tests;
}

// One model on one split, in a folder of its own.
RunResult run_split(const PreparedData& data, const Config& config, const CompareRequest& request,
                    const fs::path& out, const RunHooks& hooks) {
  RunOptions options;
  options.out = out;
  options.checkpoint_seconds = request.checkpoint_seconds;
  options.command = request.command;
  options.version = request.version;
  options.resume = fs::exists(RunFiles{out}.config());
  return run_training(make_problem(data, config), config, options, hooks);
}

void add_run(ComparedModel& model, const RunRecord& record, size_t split) {
  const RunSummary& s = record.summary;
  for (const SeedResult& seed : s.seeds)
    model.runs.push_back({split, seed.seed, seed.validation, seed.test});
  model.epoch_seconds = std::max(model.epoch_seconds, s.final.epoch_seconds);
  model.seconds += s.seconds;
  model.peak_bytes = std::max({model.peak_bytes, s.final.peak_bytes, s.estimator.peak_bytes});
  model.parameters = s.final.parameters;
  if (model.curve.empty()) model.curve = first_training(record);
}

}  // namespace

void mark_best(std::vector<ComparedModel>& models) {
  for (ComparedModel& model : models) {
    Moments m = moments(tests_of(model));
    model.mean = m.mean;
    model.deviation = m.deviation;
  }
  auto best = std::max_element(models.begin(), models.end(),
                               [](const auto& a, const auto& b) { return a.mean < b.mean; });
  auto same = [](const ComparedRun& a, const ComparedRun& b) {
    return a.split == b.split && a.seed == b.seed;
  };
  for (ComparedModel& model : models) {
    model.best = &model == &*best;
    if (!std::ranges::equal(model.runs, best->runs, same)) continue;
    std::vector<double> differences = tests_of(*best);
    for (size_t i = 0; i < differences.size(); ++i) differences[i] -= model.runs.at(i).test;
    Moments d = moments(differences);
    model.within_noise = !model.best && differences.size() > 1 && d.mean <= 2.0 * d.error;
  }
}

std::optional<Comparison> compare_models(const Dataset& data, const CompareRequest& request,
                                         const RunHooks& hooks) {
  require(!request.configs.empty(), "a comparison needs at least one model");
  for (const Config& config : request.configs) check(config);
  Comparison comparison;
  comparison.data = data.name;
  for (const Config& each : request.configs) {
    if (comparison.models.empty() || comparison.models.back().model != each.model)
      comparison.models.emplace_back().model = each.model;
    ComparedModel& model = comparison.models.back();
    PreparedData prepared = prepare(data, each.features);
    std::vector<size_t> splits = request.splits;
    if (splits.empty()) splits = {each.split.index};
    for (size_t split : splits) {
      Config config = each;
      config.split.index = split;
      log("{}, split {}", config.model, split);
      fs::path out = request.out / config.model / fmt::format("split-{}", split);
      RunResult result = run_split(prepared, config, request, out, hooks);
      if (!result.finished) return std::nullopt;
      add_run(model, result.record, split);
      comparison.metric = result.record.summary.metric;
    }
  }
  mark_best(comparison.models);
  write_text(request.out / "compare.csv", to_csv(comparison));
  write_text(request.out / "compare.json", to_json(comparison));
  return comparison;
}

Comparison compare_runs(const std::vector<fs::path>& runs) {
  Comparison comparison;
  for (const fs::path& run : runs) {
    RunRecord record = load_record(run);
    const RunSummary& s = record.summary;
    if (comparison.models.empty()) {
      comparison.data = s.data;
      comparison.metric = s.metric;
    }
    require(s.data == comparison.data && s.metric == comparison.metric,
            "{} is {} on {}, {} is {} on {}: only runs of one data set and metric can be compared",
            runs.front().string(), comparison.metric, comparison.data, run.string(), s.metric,
            s.data);
    ComparedModel& model = comparison.models.emplace_back();
    add_run(model, record, read_run_config({run}).split.index);
    fs::path folder = fs::absolute(run).lexically_normal();
    model.model = (folder.has_filename() ? folder : folder.parent_path()).filename();
  }
  require(!comparison.models.empty(), "a comparison needs at least one run");
  mark_best(comparison.models);
  return comparison;
}

std::string to_csv(const Comparison& comparison) {
  std::string text = "model,split,seed,val,test\n";
  for (const ComparedModel& model : comparison.models)
    for (const ComparedRun& run : model.runs)
      text += fmt::format("{},{},{},{},{}\n", csv_field(model.model), run.split, run.seed,
                          run.validation, run.test);
  return text;
}

std::string to_json(const Comparison& comparison) {
  return write_json(comparison, 2);
}

std::string to_table(const Comparison& comparison) {
  std::string text = fmt::format("{:<18} {:>18}  {:>12} {:>10} {:>12} {:>12}\n", "model",
                                 score_head(comparison.metric), "s per epoch", "s in all",
                                 "peak memory", "parameters");
  for (const ComparedModel& m : comparison.models)
    text += fmt::format("{:<18} {:>14}{:<4}  {:>12.3f} {:>10.1f} {:>12} {:>12}\n", m.model,
                        mean_text(comparison.metric, m.mean, m.deviation, m.runs.size()),
                        m.best           ? " **"
                        : m.within_noise ? " *"
                                         : "",
                        m.epoch_seconds, m.seconds, format_size(m.peak_bytes), m.parameters);
  return text + fmt::format(
                    "** the best mean over {} trainings; * not told from it by the paired "
                    "differences (two standard errors)\n",
                    comparison.models.front().runs.size());
}

}  // namespace spex
