// Values of a metric as people read them. All are shares, shown in percent, but the mean absolute
// error, which is kept as its negative and has the unit of the targets.
#pragma once

#include <string>

namespace spex {

std::string score_text(const std::string& metric, double value);   // "84.22%", "3.547"
std::string spread_text(const std::string& metric, double value);  // a difference: "0.49", "0.12"
// The mean of several, and how far they spread where there are several: "84.22 ± 0.49".
std::string mean_text(const std::string& metric, double mean, double spread, size_t count);
std::string score_head(const std::string& metric);  // of a column: "roc_auc %", "mae"

}  // namespace spex
