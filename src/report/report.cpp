#include <spex/core/error.h>
#include <spex/core/files.h>
#include <spex/report/report.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "report/assets.h"
#include "report/findings.h"

namespace spex {
namespace {

using nlohmann::ordered_json;

// One curve set per phase and seed, as columns: {"phase":, "seed":, "epoch": [...], "train_loss":
// [...], ...}. NaN becomes null, which the charts leave out.
ordered_json curves(const std::vector<EpochRecord>& epochs) {
  auto all = ordered_json::array();
  std::map<std::pair<std::string, size_t>, size_t> place;
  for (const EpochRecord& e : epochs) {
    auto [found, is_new] = place.try_emplace({e.phase, e.seed}, all.size());
    if (is_new) all.push_back({{"phase", e.phase}, {"seed", e.seed}});
    ordered_json& curve = all[found->second];
    curve["epoch"].push_back(e.epoch);
    curve["train_loss"].push_back(e.train_loss);
    curve["train"].push_back(e.train);
    curve["validation"].push_back(e.validation);
    curve["test"].push_back(e.test);
    curve["learning_rate"].push_back(e.learning_rate);
    curve["temperature"].push_back(e.temperature);
  }
  return all;
}

ordered_json settings(const std::vector<ConfigKey>& config) {
  auto all = ordered_json::array();
  for (const ConfigKey& key : config) all.push_back({key.key, key.value, key.meaning});
  return all;
}

std::string dump(const ordered_json& json) {
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

std::string data_of(const RunRecord& record) {
  return fmt::format(R"({{"summary":{},"details":{},"curves":{},"config":{},"findings":{}}})",
                     to_json(record.summary), to_json(record.details), dump(curves(record.epochs)),
                     dump(settings(record.config)), dump(findings(record)));
}

// JSON inside <script>: without "<", nothing in it can end the element or open a comment.
std::string inside_script(const std::string& json) {
  std::string safe;
  safe.reserve(json.size());
  for (char c : json) c == '<' ? safe += "\\u003c" : safe += c;
  return safe;
}

std::string escape_html(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '&')
      out += "&amp;";
    else
      out += c;
  }
  return out;
}

// Each {{place}} of the template gives way to its text. What was filled in is not looked at again.
std::string fill(std::string_view rest, const std::map<std::string_view, std::string_view>& texts) {
  std::string out;
  for (size_t open; (open = rest.find("{{")) != std::string_view::npos;) {
    size_t close = rest.find("}}", open);
    out += rest.substr(0, open);
    out += texts.at(rest.substr(open + 2, close - open - 2));
    rest.remove_prefix(close + 2);
  }
  return out.append(rest);
}

std::string page(const std::string& title, const std::string& json, std::string_view script) {
  std::string name = escape_html(title), data = inside_script(json);
  return fill(assets::page, {{"title", name},
                             {"style", assets::style},
                             {"charts", assets::charts},
                             {"data", data},
                             {"script", script}});
}

}  // namespace

std::string render_report(const RunRecord& record) {
  return page(record.summary.data + ", " + record.summary.model, data_of(record), assets::script);
}

void write_report(const std::filesystem::path& folder) {
  std::vector<StudyRecord> studies;
  bool is_run = std::filesystem::exists(RunFiles{folder}.config());
  if (!is_run) studies = load_studies(folder);
  write_text(folder / "report.html",
             studies.empty() ? render_report(load_record(folder)) : render_studies(studies));
}

std::string render_comparison(const Comparison& comparison) {
  return page(comparison.data + ", models compared", to_json(comparison), assets::compare_script);
}

std::string render_tuning(const Tuning& tuning) {
  return page(tuning.data + ", settings searched", to_json(tuning), assets::tune_script);
}

std::string render_studies(const std::vector<StudyRecord>& studies) {
  std::string all;
  for (const StudyRecord& study : studies)
    all.append(all.empty() ? "[" : ",").append(to_json(study));
  bool one = studies.size() == 1;
  return page(one ? studies.front().title + ", " + studies.front().data : "Studies of the paper",
              all + "]", assets::study_script);
}

}  // namespace spex
