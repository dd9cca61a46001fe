#include "run/run_folder.h"

#include <spex/core/error.h>
#include <spex/core/files.h>
#include <spex/graph/attention_file.h>
#include <spex/model/registry.h>

#include <charconv>

#include "run/run_summary.h"

namespace spex {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kAnyRun = "# spex run ";  // of any version
constexpr std::string_view kDataLine = "# data ";    // the second line of config.toml

// What must be the same in a run and its continuation. A data set may have moved, and recomputing
// changes no number.
std::vector<ConfigKey> comparable(Config config) {
  config.data = fs::path(config.data).filename();
  std::vector<ConfigKey> keys = config_keys(config);
  std::erase_if(keys, [](const ConfigKey& key) { return key.key.ends_with(".recompute"); });
  return keys;
}

}  // namespace

std::vector<fs::path> network_files(const RunFiles& files, const Config& config) {
  std::vector<fs::path> all;
  for (size_t n = 0; config.members > 1 && n < config.seeds * config.members; ++n)
    all.push_back(files.network(first_network(config) + n));
  return all;
}

Config read_run_config(const RunFiles& files) {
  std::string text = read_text(files.config());
  require(text.starts_with(kRunHeader),
          "{} was written by an earlier version of spex; train again with this one, or use that "
          "version",
          files.config().string());
  Config config;
  apply_toml(config, text, files.config().string());
  if (config.data == kDataInside) config.data = files.folder / kDataInside;
  return config;
}

uint64_t read_data_fingerprint(const RunFiles& files) {
  std::string text = read_text(files.config());
  size_t line = text.find('\n') + 1;
  if (text.compare(line, kDataLine.size(), kDataLine) != 0) return 0;
  uint64_t value = 0;
  std::from_chars(text.data() + line + kDataLine.size(), text.data() + text.size(), value, 16);
  return value;
}

void RunFolder::open(const Problem& problem, const RunOptions& options) {
  if (!options.resume) {
    if (options.replace && fs::exists(files_.config())) remove_run();
    start(problem);
    return;
  }
  check_same_configuration(read_run_config(files_));
  check_same_data(problem);
  check_same_graph(problem);
  checkpoint_ = load_checkpoint(files_.checkpoint());
  read_metrics();
}

// A run that was killed may have left half a line at the end.
void RunFolder::read_metrics() {
  if (!fs::exists(files_.metrics())) return;
  std::string text = read_text(files_.metrics());
  text.resize(text.rfind('\n') + 1);
  if (!text.empty()) records_ = parse_csv(text, files_.metrics().string());
  drop_later_records();
  if (!fs::exists(files_.summary())) write_metrics();
}

void RunFolder::add(const EpochRecord& record) {
  if (records_.empty()) write_metrics();
  records_.push_back(record);
  append_text(files_.metrics(), csv_line(record));
}

void RunFolder::write_metrics() const {
  write_text(files_.metrics(), to_csv(records_));
}

// The configuration goes last: without it nothing here is taken for a run.
void RunFolder::remove_run() const {
  require(read_text(files_.config()).starts_with(kAnyRun),
          "{} is not of a run, and --force replaces runs alone; give another --out",
          files_.config().string());
  if (read_text(files_.config()).starts_with(kRunHeader)) {  // earlier versions averaged nothing
    Config before = read_run_config(files_);
    for (size_t m = 1; m < before.members; ++m) fs::remove(files_.model(m));
    for (const fs::path& file : network_files(files_, before)) fs::remove(file);
  }
  for (const fs::path& file :
       {files_.summary(), files_.report(), files_.details(), files_.predictions(), files_.model(),
        files_.checkpoint(), files_.scores(), files_.attention(), files_.metrics()})
    fs::remove(file);
  for (const ModelInfo& info : models()) fs::remove(files_.phase(info.name));
  fs::remove(files_.config());
}

void RunFolder::start(const Problem& problem) {
  for (const fs::path& file :
       {files_.config(), files_.metrics(), files_.scores(), files_.attention(), files_.model(),
        files_.checkpoint(), files_.summary()})
    require(!fs::exists(file),
            "{} already holds a run ({}); give another --out, --resume to continue that one, or "
            "--force to train anew in its place",
            files_.folder.string(), file.filename().string());
  write_text(files_.config(), fmt::format("{}{}{:016x}\n{}", kRunHeader, kDataLine,
                                          problem.data_fingerprint, to_toml(config_)));
  if (problem.fingerprint != 0)
    save_attention_graph(files_.attention(), problem.attention, problem.fingerprint);
}

void RunFolder::check_same_configuration(const Config& before) const {
  require(before.model == config_.model,
          "{} holds a run of {}, not of {}; resume with the same model, or give another --out",
          files_.folder.string(), before.model, config_.model);
  auto old_keys = comparable(before), new_keys = comparable(config_);
  for (size_t i = 0; i < old_keys.size(); ++i)
    require(old_keys[i].value == new_keys[i].value,
            "{} belongs to another configuration: {} is {} there and {} here; resume with the same "
            "settings, or give another --out",
            files_.folder.string(), old_keys[i].key, old_keys[i].value, new_keys[i].value);
}

void RunFolder::check_same_data(const Problem& problem) const {
  uint64_t before = read_data_fingerprint(files_);
  require(
      before == 0 || before == problem.data_fingerprint,
      "{} belongs to other data than {} holds now: edges, features or labels differ; resume with "
      "the same data, or give another --out",
      files_.folder.string(), config_.data);
}

// A run that was killed as it began may lack its graph.
void RunFolder::check_same_graph(const Problem& problem) const {
  if (problem.fingerprint == 0) return;
  if (!fs::exists(files_.attention()))
    save_attention_graph(files_.attention(), problem.attention, problem.fingerprint);
  require(load_attention_graph(files_.attention()).fingerprint == problem.fingerprint,
          "{} belongs to another graph than {}; resume with the same data, or give another --out",
          files_.folder.string(), config_.data);
}

size_t RunFolder::place_of(const std::string& phase) const {
  size_t place = 0;
  while (place < config_.phases.size() && config_.phases[place].name != phase) ++place;
  return place;
}

// Rows that were written after the last checkpoint will be made again. Before the first checkpoint
// of a phase, the phases before it are whole if their scores are there.
void RunFolder::drop_later_records() {
  size_t last = config_.phases.size() - 1;
  std::erase_if(records_, [&](const EpochRecord& r) {
    if (!checkpoint_) return place_of(r.phase) == last || !fs::exists(files_.scores());
    if (r.phase != checkpoint_->phase) return place_of(r.phase) > place_of(checkpoint_->phase);
    return r.seed > checkpoint_->seed ||
           (r.seed == checkpoint_->seed && r.epoch >= checkpoint_->state.next_epoch);
  });
}

TrainState RunFolder::state_for(const std::string& phase, size_t seed) const {
  if (checkpoint_ && checkpoint_->phase == phase && checkpoint_->seed == seed)
    return checkpoint_->state;
  return {};
}

bool RunFolder::is_past(const std::string& phase, size_t seed) const {
  return checkpoint_ && checkpoint_->phase == phase && checkpoint_->seed > seed;
}

}  // namespace spex
