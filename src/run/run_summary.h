// summary.json from the rows of metrics.csv.
#pragma once

#include <spex/run/problem.h>
#include <spex/run/record.h>

#include "run/moments.h"

namespace spex {

// The networks of a seed have consecutive seeds of their own: those of seed s begin at
// s * members.
size_t first_network(const Config& config);

// Of each network, its best epoch.
std::vector<SeedResult> network_results(const Config& config,
                                        const std::vector<EpochRecord>& records);

Moments tests_of(const std::vector<SeedResult>& results);

// All but the name of the metric, the numbers of parameters and the estimator's test metric.
RunSummary summarise_run(const Problem& problem, const Config& config,
                         const std::vector<EpochRecord>& records, std::vector<SeedResult> seeds);

}  // namespace spex
