#include <spex/core/error.h>
#include <spex/core/log.h>
#include <spex/run/run_lock.h>
#include <spex/run/tune.h>

#include "run/tune_finals.h"
#include "run/tune_search.h"

namespace spex {
namespace {

namespace fs = std::filesystem;

// Of the budget: until the finals begin, and until the winner is trained for its test metric.
constexpr double kSearchShare = 0.5, kFinalsShare = 0.8;

std::optional<Tuning> run(TuneContext context) {
  const fs::path& out = context.request.out;
  TuneTable& table = context.table;
  auto remove_states = [&] {
    fs::remove_all(out / "trials");
    fs::remove_all(out / "finals");
  };
  if (table.known().finished) {
    remove_states();  // if what finished it was killed there
    log("{} holds a finished search; give another --out for a new one", out.string());
    return table.known();
  }
  double budget = context.request.budget_seconds;
  if (!search(context, kSearchShare * budget) || !decide(context, kFinalsShare * budget) ||
      !test_winner(context))
    return std::nullopt;
  std::vector<TuneTrial>& trials = table.now.trials;
  while (trials.size() > 1 && trials.back().steps.empty()) trials.pop_back();
  table.now.finished = true;
  table.save();
  remove_states();
  return table.now;
}

}  // namespace

std::optional<Tuning> tune(const Dataset& data, const TuneRequest& request,
                           const TuneHooks& hooks) {
  require(!request.defaults.empty(), "tuning needs at least one model");
  require(request.seeds > 0 && request.most_trials > 0,
          "tuning needs at least one trial and one training of each finalist");
  for (const Config& config : request.defaults) {
    check(config);
    choose_split(data, config.split);  // throws before the folder is claimed
  }
  std::error_code error;
  fs::create_directories(request.out, error);
  require(!error, "cannot make the folder {}: {}", request.out.string(), error.message());
  RunLock lock(request.out / "lock");
  return run({data, request, hooks});
}

}  // namespace spex
