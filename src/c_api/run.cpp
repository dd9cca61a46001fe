// What a run knows, and where it stands.
#include <spex/core/files.h>
#include <spex/data/native.h>
#include <spex/report/report.h>
#include <spex/run/run.h>

#include "c_api/handles.h"

namespace spex::c_api {
namespace {

namespace fs = std::filesystem;

const Dataset& data_of(spex_run& run) {
  if (!run.data) run.data = open_data(run.config.data);
  return *run.data;
}

size_t peak_bytes(const spex_run& run) {
  size_t peak = 0;
  for (const EpochRecord& record : run.records) peak = std::max(peak, record.peak_bytes);
  return peak;
}

void save(spex_run& run, const fs::path& to) {
  const fs::path& from = run.directory->path;
  require(!fs::exists(RunFiles{to}.config()), "{} already holds a run; give another folder",
          to.string());
  fs::create_directories(to);
  for (const auto& file : fs::directory_iterator(from))
    if (file.is_regular_file() && file.path().filename() != RunFiles{from}.lock().filename())
      fs::copy_file(file, to / file.path().filename(), fs::copy_options::overwrite_existing);
  bool inside = run.config.data == from / kDataInside;
  if (inside && !fs::exists(to / kDataInside)) save_native(data_of(run), to / kDataInside);
  if (run.finished) write_report(to);
}

}  // namespace

std::unique_ptr<spex_run> open_directory(std::unique_ptr<spex_run::Directory> directory,
                                         bool finished) {
  auto run = std::make_unique<spex_run>();
  RunFiles files{directory->path};
  run->directory = std::move(directory);
  run->config = read_run_config(files);
  run->finished = finished;
  run->can_predict = fs::exists(files.model());
  if (run->can_predict) {
    SavedModel saved = load_model(files.model());
    run->meaning = saved.meaning;
    run->features = saved.preparation.given;
  }
  if (fs::exists(files.metrics()))
    run->records = parse_csv(read_text(files.metrics()), files.metrics().string());
  for (const EpochRecord& record : run->records) run->history.push_back(epoch_of(record, 0));
  return run;
}

}  // namespace spex::c_api

using namespace spex::c_api;  // NOLINT

spex_status spex_run_load(const char* directory, spex_run** run) {
  return guarded([&] {
    auto folder = std::make_unique<spex_run::Directory>(
        std::filesystem::absolute(&given(directory, "the directory")), false);
    spex::RunFiles files{folder->path};
    spex::require(std::filesystem::exists(files.config()), "{} holds no run", folder->text);
    bool finished = std::filesystem::exists(files.summary());
    given(run, "run") = open_directory(std::move(folder), finished).release();
  });
}

spex_status spex_run_save(spex_run* run, const char* directory) {
  return computed([&] {
    save(given(run, "run"), std::filesystem::absolute(&given(directory, "the directory")));
  });
}

void spex_run_free(spex_run* run) {
  delete run;
}

spex_status spex_run_describe(const spex_run* run, spex_run_facts* facts) {
  return guarded([&] {
    given(run, "run");
    given(facts, "facts") = {run->config.model.c_str(),
                             run->directory->text.c_str(),
                             task_of(run->meaning.task),
                             run->meaning.class_names.size(),
                             run->features,
                             run->finished,
                             run->can_predict,
                             peak_bytes(*run)};
  });
}

spex_status spex_run_class_name(const spex_run* run, size_t index, const char** name) {
  return guarded([&] {
    const auto& names = given(run, "run").meaning.class_names;
    spex::require(index < names.size(), "there is no class {}: there are {}", index, names.size());
    given(name, "name") = names[index].c_str();
  });
}

spex_status spex_run_history(const spex_run* run, const spex_epoch** rows, size_t* count) {
  return guarded([&] {
    given(rows, "rows") = given(run, "run").history.data();
    given(count, "count") = run->history.size();
  });
}

spex_status spex_run_summary(spex_run* run, const char** json) {
  return guarded([&] {
    spex::require(given(run, "run").finished, "the run in {} was stopped: it has no summary yet",
                  run->directory->text);
    run->summary = spex::read_text(spex::RunFiles{run->directory->path}.summary());
    given(json, "json") = run->summary.c_str();
  });
}

spex_status spex_run_config(spex_run* run, const char** toml) {
  return guarded([&] {
    run->toml = spex::to_toml(given(run, "run").config);
    given(toml, "toml") = run->toml.c_str();
  });
}

spex_status spex_run_dataset(spex_run* run, spex_dataset** dataset) {
  return computed([&] {
    bool inside = given(run, "run").config.data == run->directory->path / spex::kDataInside;
    given(dataset, "dataset") = wrap(data_of(*run), inside ? "" : run->config.data).release();
  });
}
