// Settings: values of a struct that have a name, a range and a meaning, so that files and command
// lines can set them and messages can explain them. A struct lists its own, once:
//
//   struct Options {
//     size_t width = 64;
//     double dropout = 0.5;
//     void list(SettingList& s) {
//       s.add("width", width, {1, 1024}, "features per node");
//       s.add("dropout", dropout, {0, 1, Range::below}, "share of activations dropped");
//     }
//   };
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace spex {

struct Range {
  enum Ends { both, above, below };  // which ends belong to it: both, not the least, not the most
  double least = 0;
  double most = std::numeric_limits<double>::infinity();
  Ends ends = both;
  bool holds(double value) const;
  std::string text() const;  // "from 1 to 1024", "above 0", ..
};

struct Setting {
  std::string name;
  std::string meaning;
  std::function<std::string()> text;  // the value, as TOML writes it
  // Reads a value; throws, beginning with `key`, when it is of another kind or out of range.
  std::function<void(const std::string& text, const std::string& key)> set;
};

template <class E>
using Words = std::vector<std::pair<std::string_view, E>>;

class SettingList {
 public:
  void add(std::string name, size_t& value, Range range, std::string meaning);
  void add(std::string name, double& value, Range range, std::string meaning);
  void add(std::string name, bool& value, std::string meaning);
  void add(std::string name, std::string& value, std::string meaning);
  void add(std::string name, std::vector<size_t>& value, Range range, std::string meaning);
  template <class E>
  void add(std::string name, E& value, const Words<E>& words, std::string meaning) {
    std::vector<std::string_view> known;
    for (const auto& [word, each] : words) known.push_back(word);
    add_word(
        std::move(name), std::move(known), std::move(meaning),
        [&value, words] {
          for (size_t i = 0; i < words.size(); ++i)
            if (words[i].second == value) return i;
          return size_t{0};
        },
        [&value, words](size_t chosen) { value = words[chosen].second; });
  }

  // The settings of a part, under its name: "part.name".
  template <class Part>
  void add_part(const std::string& part, Part& values) {
    std::string outer = std::move(prefix_);
    prefix_ = outer + part + ".";
    values.list(*this);
    prefix_ = std::move(outer);
  }

  const std::vector<Setting>& settings() const { return settings_; }
  const Setting* find(std::string_view name) const;  // null: there is none
  std::vector<std::string> names() const;

 private:
  void add_word(std::string name, std::vector<std::string_view> words, std::string meaning,
                std::function<size_t()> get, std::function<void(size_t)> choose);
  void push(std::string name, std::string meaning, std::function<std::string()> text,
            std::function<void(const std::string&, const std::string&)> set);

  std::string prefix_;
  std::vector<Setting> settings_;
};

}  // namespace spex
