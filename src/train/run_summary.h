// summary.json from the rows of metrics.csv.
#pragma once

#include <spex/train/problem.h>
#include <spex/train/record.h>

namespace spex {

// All but the name of the metric and the numbers of parameters.
RunSummary summarise_run(const Problem& problem, const Config& config,
                         const std::vector<EpochRecord>& records);

}  // namespace spex
