#include <fmt/format.h>
#include <spex/run/score_text.h>

namespace spex {
namespace {

bool is_share(const std::string& metric) {
  return metric != "mae";
}

std::string number(const std::string& metric, double value) {
  return is_share(metric) ? fmt::format("{:.2f}", 100 * value) : fmt::format("{:.4g}", -value);
}

}  // namespace

std::string score_text(const std::string& metric, double value) {
  return number(metric, value) + (is_share(metric) ? "%" : "");
}

std::string spread_text(const std::string& metric, double value) {
  return is_share(metric) ? fmt::format("{:.2f}", 100 * value) : fmt::format("{:.3g}", value);
}

std::string mean_text(const std::string& metric, double mean, double spread, size_t count) {
  std::string text = number(metric, mean);
  return count > 1 ? text + " ± " + spread_text(metric, spread) : text;
}

std::string score_head(const std::string& metric) {
  return is_share(metric) ? metric + " %" : metric;
}

}  // namespace spex
