#include "data/formats/label_values.h"

#include <spex/core/error.h>
#include <spex/core/log.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace spex {
namespace {

bool all_whole(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double v) {
    return std::isnan(v) || (v == std::floor(v) && std::abs(v) < 1e15);
  });
}

// Each different value, to be numbered.
std::map<int64_t, int64_t> distinct(const std::vector<double>& whole) {
  std::map<int64_t, int64_t> numbers;
  for (double v : whole)
    if (!std::isnan(v)) numbers[static_cast<int64_t>(v)] = 0;
  return numbers;
}

// More values than any classes have: then they count, measure or describe something.
bool too_many(size_t distinct, size_t labelled) {
  constexpr size_t kMostClasses = 1000, kFewNodes = 40;
  return distinct > kMostClasses || (labelled >= kFewNodes && 4 * distinct > labelled);
}

// Classes 0, 1, .. are themselves; other numbers are names, in ascending order. -1 beside classes
// from 0 is unknown.
std::vector<int64_t> number_classes(const std::vector<double>& whole,
                                    std::map<int64_t, int64_t> numbers,
                                    std::vector<std::string>& names) {
  bool unknown = numbers.contains(-1) && numbers.contains(0) && numbers.begin()->first == -1;
  if (unknown) numbers.erase(-1);
  auto count = static_cast<int64_t>(numbers.size());
  bool gaps = count > 0 && (numbers.begin()->first != 0 || numbers.rbegin()->first != count - 1);
  int64_t next = 0;
  for (auto& [number, index] : numbers) {
    index = next++;
    if (gaps) names.push_back(std::to_string(number));
  }
  std::vector<int64_t> classes;
  for (double v : whole) {
    auto found = std::isnan(v) ? numbers.end() : numbers.find(static_cast<int64_t>(v));
    classes.push_back(found == numbers.end() ? -1 : found->second);
  }
  return classes;
}

std::vector<float> as_floats(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

void set_targets(Draft& draft, const std::vector<double>& values, size_t outputs,
                 const std::string& where) {
  bool any = std::any_of(values.begin(), values.end(), [](double v) { return !std::isnan(v); });
  require(any, "{}: no node has a label", where);
  draft.class_names.clear();
  draft.labels = {Task::regression, outputs, {}, share(as_floats(values))};
}

// The class of each row that is a single one and zeros else. Empty if a row is not so: then labels
// do not exclude each other.
std::vector<int64_t> one_hot_classes(const std::vector<double>& rows, size_t outputs) {
  std::vector<int64_t> classes;
  for (size_t begin = 0; begin < rows.size(); begin += outputs) {
    auto row = std::span(rows).subspan(begin, outputs);
    auto one = std::find(row.begin(), row.end(), 1.0);
    if (std::count(row.begin(), row.end(), 0.0) + 1 != std::ssize(row) || one == row.end())
      return {};
    classes.push_back(one - row.begin());
  }
  return classes;
}

}  // namespace

void set_number_labels(Draft& draft, const std::vector<double>& by_node, LabelTask task,
                       const std::string& where) {
  bool whole = all_whole(by_node);
  require(whole || task != LabelTask::classes,
          "{}: its numbers are not whole, so they cannot be classes", where);
  if (!whole || task == LabelTask::regression) return set_targets(draft, by_node, 1, where);
  auto values = distinct(by_node);
  auto labelled = static_cast<size_t>(
      std::count_if(by_node.begin(), by_node.end(), [](double v) { return !std::isnan(v); }));
  if (task == LabelTask::by_values && too_many(values.size(), labelled)) {
    log("{}: {} different whole numbers for {} nodes are targets of regression; --task classes "
        "makes them classes",
        where, values.size(), labelled);
    return set_targets(draft, by_node, 1, where);
  }
  draft.class_names.clear();
  std::vector<int64_t> classes = number_classes(by_node, std::move(values), draft.class_names);
  draft.labels = class_labels(classes, where);
}

void set_text_labels(Draft& draft, const std::vector<std::string>& by_node, LabelTask task,
                     const std::string& where) {
  require(task != LabelTask::regression, "{}: holds text, which cannot be a target of regression",
          where);
  std::map<std::string, int64_t> numbers;
  size_t labelled = 0;
  for (const std::string& value : by_node)
    if (!value.empty()) numbers[value] = 0, ++labelled;
  require(task == LabelTask::classes || !too_many(numbers.size(), labelled),
          "{}: {} different texts for {} nodes are no classes; choose another column with "
          "--label-column, or say --task classes",
          where, numbers.size(), labelled);
  if (numbers.contains("unknown"))
    log("{}: 'unknown' is a class as others are; leave fields empty that have no label", where);
  draft.class_names.clear();
  for (auto& [name, number] : numbers) {
    number = static_cast<int64_t>(draft.class_names.size());
    draft.class_names.push_back(name);
  }
  std::vector<int64_t> classes;
  for (const std::string& value : by_node) classes.push_back(value.empty() ? -1 : numbers[value]);
  draft.labels = class_labels(classes, where);
}

void set_wide_labels(Draft& draft, const std::vector<double>& rows, size_t outputs, LabelTask task,
                     const std::string& where) {
  if (outputs == 1) return set_number_labels(draft, rows, task, where);
  bool binary = std::all_of(rows.begin(), rows.end(),
                            [](double v) { return std::isnan(v) || v == 0.0 || v == 1.0; });
  if (!binary || task == LabelTask::regression) {
    require(task != LabelTask::classes, "{}: expected one class per node, or one-hot rows", where);
    return set_targets(draft, rows, outputs, where);
  }
  draft.class_names.clear();
  std::vector<int64_t> classes = one_hot_classes(rows, outputs);
  if (classes.empty()) {
    draft.labels = {Task::binary_labels, outputs, {}, share(as_floats(rows))};
    return;
  }
  draft.labels = class_labels(classes, where);
  draft.labels.outputs = outputs;  // the last classes may have no node
}

}  // namespace spex
