// The finals of a tuning: the default and the best trials, trained in full, and what becomes of the
// winner.
#pragma once

#include "run/tune_context.h"

namespace spex {

// Until `seconds` of the budget are over. Writes best.toml. False if told to stop.
bool decide(TuneContext& context, double seconds);

// The only place where test nodes are looked at: trainings of the winner as `spex train` would do
// them, on all splits and seeds that time is left for. False if told to stop.
bool test_winner(TuneContext& context);

}  // namespace spex
