#include "run/tune_table.h"

#include <fmt/format.h>
#include <spex/core/error.h>
#include <spex/core/files.h>
#include <spex/core/hash.h>

#include <span>

namespace spex {
namespace {

namespace fs = std::filesystem;

}  // namespace

TuneTable::TuneTable(fs::path folder, const Tuning& begun, double spent)
    : now(begun), folder_(std::move(folder)) {
  fs::path file = folder_ / "tune.json";
  bool found = fs::exists(file);
  if (found) {
    known_ = parse_tuning(read_text(file), file.string());
    require(known_.fingerprint == begun.fingerprint && known_.splits == begun.splits &&
                known_.defaults == begun.defaults,
            "{} holds a search from other data, splits, models or settings; give another --out",
            folder_.string());
  }
  before_ = known_.seconds + spent;
  if (!found) save();  // the states of trials belong to this search from now on
}

// What an earlier call did and this one has not come to yet is kept: this one may be stopped, too.
Tuning TuneTable::with_known() const {
  Tuning all = now;
  if (now.finished) return all;
  for (size_t i = now.trials.size(); i < known_.trials.size(); ++i)
    all.trials.push_back(known_.trials[i]);
  return all;
}

void TuneTable::save() {
  now.seconds = elapsed();
  Tuning all = with_known();
  write_text(folder_ / "trials.csv", to_csv(all));
  write_text(folder_ / "tune.json", to_json(all));
  saved_ = Stopwatch();
}

const TuneTrial* TuneTable::known_trial(size_t trial) const {
  if (trial >= known_.trials.size()) return nullptr;
  const TuneTrial& known = known_.trials[trial];
  return known.settings == now.trials[trial].settings ? &known : nullptr;
}

const TuneStep* TuneTable::known_step(const Job& job) const {
  const TuneTrial* known = known_trial(job.trial);
  return known && job.rung < known->steps.size() ? &known->steps[job.rung] : nullptr;
}

fs::path TuneTable::state_file(const char* folder, size_t trial, const Fold& fold) const {
  std::string settings = fmt::format("{}", fmt::join(now.trials[trial].settings, ";"));
  uint64_t hash = hash_bytes(0, std::as_bytes(std::span(settings)));
  return folder_ / folder /
         fmt::format("{}-{:016x}-{}-{}-{}-{}.safetensors", trial, hash, fold.split,
                     fold.division.fold, static_cast<int>(fold.division.judges), fold.seed);
}

}  // namespace spex
