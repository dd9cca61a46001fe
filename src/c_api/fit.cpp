// Training: one model, or several on the same splits.
#include <spex/core/files.h>
#include <spex/core/text.h>
#include <spex/core/threads.h>
#include <spex/data/native.h>
#include <spex/report/report.h>
#include <spex/run/compare.h>
#include <spex/run/run.h>

#include "c_api/handles.h"
#include "c_api/requests.h"

namespace spex::c_api {
namespace {

namespace fs = std::filesystem;
using Directory = spex_run::Directory;

RunHooks hooks_of(const spex_fit_options& options, spex_epoch_function on_epoch, void* user,
                  bool& stopped) {
  RunHooks hooks;
  if (on_epoch)
    hooks.on_epoch = [=, &stopped](const EpochRecord& record, size_t epochs) {
      spex_epoch epoch = epoch_of(record, epochs);
      stopped = on_epoch(&epoch, user) != 0 || stopped;
    };
  hooks.stop = [=, stop = options.stop, &stopped] {
    stopped = stopped || (stop && stop(user) != 0);
    return stopped;
  };
  return hooks;
}

// A run that can be continued needs its data, too. What another run left is not touched:
// run_training refuses it.
void keep_data(const Directory& directory, const Dataset& data) {
  if (directory.temporary || fs::exists(RunFiles{directory.path}.config())) return;
  fs::create_directories(directory.path);
  save_native(data, directory.path / kDataInside);
}

// The runs of a comparison share the data: a file beside them if it came from memory.
std::string shared_data(const Directory& directory, const spex_dataset& dataset) {
  if (!dataset.path.empty() || directory.temporary) return dataset.path;
  fs::path file = directory.path / kDataInside;
  fs::create_directories(directory.path);
  if (!fs::exists(file)) save_native(dataset.data, file);
  return file;
}

RunOptions run_options(const spex_fit_options& options, const fs::path& out) {
  RunOptions run;
  run.out = out;
  run.resume = options.resume != 0;
  run.version = SPEX_VERSION;
  if (options.scores) run.scores = options.scores;
  if (options.checkpoint_seconds > 0) run.checkpoint_seconds = options.checkpoint_seconds;
  return run;
}

Plan plan_of(const Dataset& data, Config& config, const spex_fit_options& options) {
  PlanInput input = plan_input(data, config);
  input.scores_given = options.scores != nullptr;
  if (!options.memory || !*options.memory) return make_plan(input, config);
  return fit_plan(input, config, parse_size(options.memory));
}

// `path` is what the data can be opened by again; without one, the run keeps it.
std::unique_ptr<spex_run> fit(Dataset data, const std::string& path,
                              const spex_fit_options& options, spex_epoch_function on_epoch,
                              void* user) {
  bool stopped = false;
  RunHooks hooks = hooks_of(options, on_epoch, user, stopped);
  Config config = resolve(settings_of(options, path), data, hooks.stop);
  config.threads = use_threads(config.threads);
  check(config);
  std::optional<Dataset> kept;
  if (path.empty()) kept = data;
  PreparedData prepared = prepare(std::move(data), config.features);
  Plan plan = plan_of(prepared.data, config, options);
  auto directory = directory_of(options.directory);
  if (kept) keep_data(*directory, *kept);
  RunOptions run = run_options(options, directory->path);
  run.plan = std::move(plan);
  RunResult result = run_training(make_problem(std::move(prepared), config), config, run, hooks);
  if (result.finished && !directory->temporary) write_report(directory->path);
  auto made = open_directory(std::move(directory), result.finished);
  made->data = std::move(kept);
  return made;
}

std::string compare(const spex_dataset& dataset, const std::vector<std::string>& models,
                    const std::vector<size_t>& splits, const spex_fit_options& options,
                    spex_epoch_function on_epoch, void* user) {
  const Dataset& data = built(&dataset);
  auto directory = directory_of(options.directory);
  CompareRequest request;
  request.out = directory->path;
  check_splits(splits, data);
  bool stopped = false;
  RunHooks hooks = hooks_of(options, on_epoch, user, stopped);
  RunSettings settings = settings_of(options, shared_data(*directory, dataset));
  compare_alike(settings);
  request.configs = resolve_each(settings, models, splits, data, hooks.stop);
  for (Config& config : request.configs) config.threads = use_threads(config.threads);
  if (options.checkpoint_seconds > 0) request.checkpoint_seconds = options.checkpoint_seconds;
  auto comparison = compare_models(data, request, hooks);
  if (!comparison) return "";
  write_text(request.out / "compare.html", render_comparison(*comparison));
  return to_json(*comparison);
}

}  // namespace

spex_epoch epoch_of(const EpochRecord& r, size_t epochs) {
  return {r.phase.c_str(), r.seed,           r.epoch,     epochs,          r.train_loss,
          r.train,         r.validation,     r.test,      r.learning_rate, r.temperature,
          r.seconds,       r.sample_seconds, r.peak_bytes};
}

}  // namespace spex::c_api

using namespace spex::c_api;  // NOLINT

spex_status spex_fit(const spex_dataset* dataset, const spex_fit_options* options,
                     spex_epoch_function on_epoch, void* user, spex_run** run) {
  return computed([&] {
    spex_fit_options asked = options_of(options);
    const spex::Dataset& data = built(dataset);
    given(run, "run") = fit(data, dataset->path, asked, on_epoch, user).release();
  });
}

spex_status spex_fit_file(const char* data, const spex_fit_options* options,
                          spex_epoch_function on_epoch, void* user, spex_run** run) {
  return computed([&] {
    std::string path = &given(data, "the data");
    given(run, "run") =
        fit(spex::open_data(path), path, options_of(options), on_epoch, user).release();
  });
}

spex_status spex_compare(const spex_dataset* dataset, const char* const* models, size_t model_count,
                         const size_t* splits, size_t split_count, const spex_fit_options* options,
                         spex_epoch_function on_epoch, void* user, char** json) {
  return computed([&] {
    std::vector<std::string> names;
    for (size_t i = 0; i < model_count; ++i) names.emplace_back(&given(models[i], "a model"));
    std::string text = compare(given(dataset, "the data set"), names,
                               {splits, splits + split_count}, options_of(options), on_epoch, user);
    given(json, "json") = handed_out(text);
  });
}
