// metrics.csv: one line per phase, seed and epoch.
#include <spex/core/error.h>
#include <spex/run/record.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>

namespace spex {
namespace {

constexpr std::string_view kHeader =
    "phase,seed,epoch,train_loss,train,validation,test,learning_rate,temperature,seconds,"
    "sample_seconds,peak_bytes";
constexpr size_t kColumns = 12;

// The columns in the header's order: the one list that both writing and reading walk.
template <class Visit>
void visit_columns(auto& e, Visit&& visit) {
  visit(e.phase);
  visit(e.seed);
  visit(e.epoch);
  visit(e.train_loss);
  visit(e.train);
  visit(e.validation);
  visit(e.test);
  visit(e.learning_rate);
  visit(e.temperature);
  visit(e.seconds);
  visit(e.sample_seconds);
  visit(e.peak_bytes);
}

std::string field(const std::string& text) {
  return text;
}
std::string field(size_t value) {
  return fmt::format("{}", value);
}
std::string field(double value) {  // fmt writes the shortest text that reads back to the same bits
  return std::isnan(value) ? std::string() : fmt::format("{}", value);
}

// A line being read: its fields, and where it stands for the messages.
struct Line {
  std::array<std::string_view, kColumns> fields;
  std::string where;

  void read(std::string& out, std::string_view text) const {
    require(!text.empty(), "{}: the phase is empty", where);
    out = text;
  }
  void read(double& out, std::string_view text) const {
    if (text.empty())
      out = std::numeric_limits<double>::quiet_NaN();
    else
      read_number(out, text, "a number");
  }
  void read(size_t& out, std::string_view text) const {
    read_number(out, text, "a whole number, 0 or more");
  }
  template <class T>
  void read_number(T& out, std::string_view text, std::string_view expected) const {
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    require(error == std::errc() && end == text.data() + text.size(), "{}: expected {}, not \"{}\"",
            where, expected, text);
  }
};

Line split(std::string_view text, std::string where) {
  Line line{{}, std::move(where)};
  size_t count = 0;
  for (size_t start = 0; start <= text.size(); ++count) {
    size_t end = std::min(text.find(',', start), text.size());
    if (count < kColumns) line.fields[count] = text.substr(start, end - start);
    start = end + 1;
  }
  require(count == kColumns, "{}: expected {} fields, found {}", line.where, kColumns, count);
  return line;
}

EpochRecord parse_line(std::string_view text, std::string where) {
  Line line = split(text, std::move(where));
  EpochRecord record;
  size_t column = 0;
  visit_columns(record, [&](auto& value) { line.read(value, line.fields[column++]); });
  return record;
}

}  // namespace

std::string to_csv(const std::vector<EpochRecord>& epochs) {
  std::string text = std::string(kHeader) + '\n';
  for (const EpochRecord& epoch : epochs) text += csv_line(epoch);
  return text;
}

std::string csv_line(const EpochRecord& epoch) {
  std::string line;
  visit_columns(epoch, [&](const auto& value) { line += field(value) + ','; });
  line.back() = '\n';
  return line;
}

std::vector<EpochRecord> parse_csv(const std::string& text, const std::string& source) {
  std::vector<EpochRecord> epochs;
  std::string_view rest = text;
  for (size_t number = 1; number == 1 || !rest.empty(); ++number) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    std::string where = fmt::format("{}, line {}", source, number);
    if (number == 1)
      require(line == kHeader, "{}: expected the header {}", where, kHeader);
    else
      epochs.push_back(parse_line(line, std::move(where)));
  }
  return epochs;
}

}  // namespace spex
