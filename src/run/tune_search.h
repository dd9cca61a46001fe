// The search of a tuning: trials by successive halving, judged on validation nodes.
#pragma once

#include "run/tune_context.h"

namespace spex {

// Fills the table with trials until `seconds` of the budget are over or there are as many as were
// asked for. False if told to stop.
bool search(TuneContext& context, double seconds);

}  // namespace spex
