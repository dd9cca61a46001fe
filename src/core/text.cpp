#include <spex/core/error.h>
#include <spex/core/text.h>

#include <algorithm>
#include <charconv>
#include <numeric>

namespace spex {
namespace {

// Levenshtein's distance, one row of the table at a time.
size_t distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t change = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, change}));
    }
  }
  return row.back();
}

template <class T>
T parse_number(std::string_view text, const std::string& what, const char* kind) {
  T value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  require(error == std::errc() && end == text.data() + text.size(), "{} is \"{}\", not {}", what,
          text, kind);
  return value;
}

}  // namespace

std::string nearest_word(const std::string& word, const std::vector<std::string>& known) {
  std::string best;
  size_t best_distance = std::max<size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : known) {
    size_t apart = distance(word, candidate);
    if (apart >= best_distance) continue;
    best_distance = apart;
    best = candidate;
  }
  return best;
}

std::string did_you_mean(const std::string& word, const std::vector<std::string>& known) {
  std::string nearest = nearest_word(word, known);
  return nearest.empty() ? std::string() : fmt::format("; did you mean {}?", nearest);
}

size_t parse_size(const std::string& text) {
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string unit(end, text.data() + text.size());
  std::erase(unit, ' ');
  constexpr std::pair<std::string_view, double> kUnits[] = {{"", 1.0},
                                                            {"B", 1.0},
                                                            {"K", 1024.0},
                                                            {"KB", 1e3},
                                                            {"KiB", 1024.0},
                                                            {"M", 1048576.0},
                                                            {"MB", 1e6},
                                                            {"MiB", 1048576.0},
                                                            {"G", 1073741824.0},
                                                            {"GB", 1e9},
                                                            {"GiB", 1073741824.0},
                                                            {"T", 1099511627776.0},
                                                            {"TB", 1e12},
                                                            {"TiB", 1099511627776.0}};
  auto found = std::find_if(std::begin(kUnits), std::end(kUnits),
                            [&](const auto& known) { return known.first == unit; });
  require(error == std::errc() && value > 0 && found != std::end(kUnits),
          "\"{}\" is not a size; write for example 2GiB or 800MB", text);
  return static_cast<size_t>(value * found->second);
}

std::string format_size(size_t bytes) {
  auto value = static_cast<double>(bytes);
  if (value >= 1e9) return fmt::format("{:.2f} GB", value * 1e-9);
  return fmt::format("{:.1f} MB", value * 1e-6);
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

size_t parse_count(std::string_view text, const std::string& what) {
  return parse_number<size_t>(text, what, "a whole number");
}

double parse_real(std::string_view text, const std::string& what) {
  return parse_number<double>(text, what, "a number");
}

}  // namespace spex
