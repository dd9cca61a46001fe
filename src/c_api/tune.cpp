// The search for better settings.
#include <spex/core/files.h>
#include <spex/core/stopwatch.h>
#include <spex/core/threads.h>
#include <spex/report/report.h>
#include <spex/run/tune.h>

#include <atomic>
#include <nlohmann/json.hpp>

#include "c_api/requests.h"

namespace spex::c_api {
namespace {

TuneHooks hooks_of(const spex_fit_options& options, spex_tune_function on_progress, void* user,
                   std::atomic<bool>& stopped) {
  TuneHooks hooks;
  if (on_progress)
    hooks.on_progress = [=, &stopped](const TuneProgress& p) {
      spex_tune_progress progress = {p.seconds, p.budget_seconds, p.trials,
                                     p.best,    p.start,          p.stage.c_str()};
      if (on_progress(&progress, user) != 0) stopped = true;
    };
  hooks.stop = [=, stop = options.stop, &stopped] {
    if (stop && stop(user) != 0) stopped = true;
    return stopped.load();
  };
  return hooks;
}

TuneRequest request_of(const Dataset& data, const spex_tune_options& tuning, RunSettings settings,
                       const TuneHooks& hooks) {
  TuneRequest request;
  request.splits.assign(tuning.splits, tuning.splits + tuning.split_count);
  check_splits(request.splits, data);
  if (!request.splits.empty()) settings.split = request.splits.front();
  request.seeds = request.splits.size() > 1 ? 1 : 3;
  if (tuning.seeds > 0) request.seeds = tuning.seeds;
  if (tuning.trials > 0) request.most_trials = tuning.trials;
  if (tuning.budget_seconds > 0) request.budget_seconds = tuning.budget_seconds;
  std::vector<std::string> models;
  for (size_t i = 0; i < tuning.model_count; ++i)
    models.emplace_back(&given(tuning.models[i], "a model"));
  settings.chooses_model = true;
  request.defaults = models.empty() ? std::vector<Config>{resolve(settings, data, hooks.stop)}
                                    : resolve_each(settings, models, {}, data, hooks.stop);
  for (Config& config : request.defaults) config.threads = use_threads(config.threads);
  return request;
}

// What the folder's best.toml says, beside what tune.json says.
std::string result_of(const Tuning& tuning, const std::filesystem::path& folder) {
  auto json = nlohmann::ordered_json::parse(to_json(tuning));
  std::filesystem::path file = folder / "best.toml";
  Config best;
  apply_toml(best, read_text(file), file.string());
  auto settings = nlohmann::ordered_json::object();
  for (const ConfigKey& key : config_keys(best)) settings[key.key] = key.value;
  json["best"] = settings;
  return json.dump();
}

std::string tune(const spex_dataset& dataset, const spex_tune_options& tuning,
                 const spex_fit_options& options, spex_tune_function on_progress, void* user) {
  Stopwatch watch;
  const Dataset& data = built(&dataset);
  std::atomic<bool> stopped = false;
  TuneHooks hooks = hooks_of(options, on_progress, user, stopped);
  TuneRequest request = request_of(data, tuning, settings_of(options, dataset.path), hooks);
  auto directory = directory_of(options.directory);
  request.out = directory->path;
  request.spent_seconds = watch.seconds();
  std::optional<Tuning> done = spex::tune(data, request, hooks);
  if (!done) return "";
  if (!directory->temporary) write_text(request.out / "tune.html", render_tuning(*done));
  return result_of(*done, request.out);
}

}  // namespace
}  // namespace spex::c_api

using namespace spex::c_api;  // NOLINT

spex_status spex_tune(const spex_dataset* dataset, const spex_tune_options* tuning,
                      const spex_fit_options* options, spex_tune_function on_progress, void* user,
                      char** json) {
  return computed([&] {
    given(json, "json") = handed_out(tune(given(dataset, "the data set"), options_of(tuning),
                                          options_of(options), on_progress, user));
  });
}
