#include <fmt/format.h>
#include <spex/core/error.h>
#include <spex/core/settings.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <concepts>
#include <sstream>

namespace spex {
namespace {

template <class T>
T read_number(const std::string& text, const Range& range, const std::string& key) {
  T value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  bool whole = error == std::errc() && end == text.data() + text.size();
  require(whole && std::isfinite(static_cast<double>(value)), "{} needs {}, not \"{}\"", key,
          std::same_as<T, double> ? "a number" : "a whole number, 0 or more", text);
  require(range.holds(static_cast<double>(value)), "{} must be {}, not {}", key, range.text(),
          text);
  return value;
}

std::vector<size_t> read_list(const std::string& text, const Range& range, const std::string& key) {
  std::vector<size_t> values;
  std::string inner = text;
  std::erase_if(inner, [](char c) { return c == '[' || c == ']' || c == ' '; });
  std::stringstream stream(inner);
  for (std::string item; std::getline(stream, item, ',');)
    values.push_back(read_number<size_t>(item, range, key));
  require(!values.empty(), "{} needs a list such as [10, 10], not \"{}\"", key, text);
  return values;
}

std::string number_text(double value) {
  std::string text = fmt::format("{}", value);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

// A TOML basic string.
std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      out += fmt::format("\\{}", c);
    else if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\u{:04X}", static_cast<unsigned>(c));
    else
      out += c;
  }
  return out + "\"";
}

}  // namespace

bool Range::holds(double value) const {
  return (ends == above ? value > least : value >= least) &&
         (ends == below ? value < most : value <= most);
}

std::string Range::text() const {
  std::string low = fmt::format("{} {}", ends == above ? "above" : "at least", least);
  if (std::isinf(most)) return low;
  if (ends == both) return fmt::format("from {} to {}", least, most);
  return fmt::format("{} and {} {}", low, ends == below ? "below" : "at most", most);
}

void SettingList::push(std::string name, std::string meaning, std::function<std::string()> text,
                       std::function<void(const std::string&, const std::string&)> set) {
  settings_.push_back(
      {prefix_ + std::move(name), std::move(meaning), std::move(text), std::move(set)});
}

void SettingList::add(std::string name, size_t& value, Range range, std::string meaning) {
  push(
      std::move(name), std::move(meaning), [&value] { return fmt::format("{}", value); },
      [&value, range](const std::string& text, const std::string& key) {
        value = read_number<size_t>(text, range, key);
      });
}

void SettingList::add(std::string name, double& value, Range range, std::string meaning) {
  push(
      std::move(name), std::move(meaning), [&value] { return number_text(value); },
      [&value, range](const std::string& text, const std::string& key) {
        value = read_number<double>(text, range, key);
      });
}

void SettingList::add(std::string name, bool& value, std::string meaning) {
  push(
      std::move(name), std::move(meaning), [&value] { return value ? "true" : "false"; },
      [&value](const std::string& text, const std::string& key) {
        require(text == "true" || text == "false", "{} needs true or false, not \"{}\"", key, text);
        value = text == "true";
      });
}

void SettingList::add(std::string name, std::string& value, std::string meaning) {
  push(
      std::move(name), std::move(meaning), [&value] { return in_quotes(value); },
      [&value](const std::string& text, const std::string&) { value = text; });
}

void SettingList::add(std::string name, std::vector<size_t>& value, Range range,
                      std::string meaning) {
  push(
      std::move(name), std::move(meaning),
      [&value] { return fmt::format("[{}]", fmt::join(value, ", ")); },
      [&value, range](const std::string& text, const std::string& key) {
        value = read_list(text, range, key);
      });
}

void SettingList::add_word(std::string name, std::vector<std::string_view> words,
                           std::string meaning, std::function<size_t()> get,
                           std::function<void(size_t)> choose) {
  push(
      std::move(name), std::move(meaning), [words, get] { return in_quotes(words[get()]); },
      [words, choose](const std::string& text, const std::string& key) {
        auto found = std::find(words.begin(), words.end(), text);
        require(found != words.end(), "{} cannot be \"{}\"; possible are {}", key, text,
                fmt::join(words, ", "));
        choose(static_cast<size_t>(found - words.begin()));
      });
}

const Setting* SettingList::find(std::string_view name) const {
  auto found = std::find_if(settings_.begin(), settings_.end(),
                            [&](const Setting& each) { return each.name == name; });
  return found == settings_.end() ? nullptr : &*found;
}

std::vector<std::string> SettingList::names() const {
  std::vector<std::string> names;
  for (const Setting& each : settings_) names.push_back(each.name);
  return names;
}

}  // namespace spex
