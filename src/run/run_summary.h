// summary.json from the rows of metrics.csv.
#pragma once

#include <spex/run/problem.h>
#include <spex/run/record.h>

namespace spex {

// All but the name of the metric, the numbers of parameters and the estimator's test metric.
RunSummary summarise_run(const Problem& problem, const Config& config,
                         const std::vector<EpochRecord>& records);

}  // namespace spex
