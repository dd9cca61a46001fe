#include <fmt/format.h>
#include <spex/core/error.h>
#include <spex/core/stopwatch.h>
#include <spex/core/text.h>
#include <spex/core/threads.h>
#include <spex/study/study.h>

#include <algorithm>

#include "study/studies.h"

namespace spex {
namespace {

std::vector<StudySetting> settings_of(const StudyRequest& request) {
  std::vector<StudySetting> settings = {
      {"seeds", fmt::to_string(request.seeds)},
      {"widths", fmt::format("{}", fmt::join(request.widths, ","))},
      {"nodes", fmt::to_string(request.data.nodes())},
      {"edges", fmt::to_string(request.data.graph.edges())},
      {"source", request.data.source},
      {"threads in use", fmt::to_string(threads())}};
  for (const ConfigKey& key : config_keys(request.config)) settings.push_back({key.key, key.value});
  return settings;
}

}  // namespace

const std::vector<StudyInfo>& studies() {
  static const std::vector<StudyInfo> all = {
      {"energy", "Energy distance between the attention of narrow and wide networks",
       "Figure 3, Figures 9 to 13", 20, "", study_energy},
      {"entropy", "Entropy of attention by layer and width", "Figure 14", 20, "", study_entropy},
      {"layers", "Energy distance between layers", "Figure 15", 20, "", study_layers},
      {"coverage", "Precision, recall, density and coverage", "Figures 16 to 19", 20, "",
       study_coverage},
      {"topk", "Sums of the k largest scores", "Figure 20", 20, "", study_topk},
      {"edge-types", "Attention by edge type", "Figures 21 and 22", 20, "", study_edge_types},
      {"memory", "Memory against Exphormer", "Figure 4", 1, "", study_memory},
      {"tradeoff", "Time against memory by batch size", "Figure 5", 1, "", study_tradeoff},
      {"expansion", "Neighbourhood expansion", "Figure 6", 100, "", study_expansion},
      {"growth", "Time and memory by graph size", "Figure 7", 3, "er", study_growth},
      {"degrees", "Accuracy, time and memory by sampling degree", "Figure 8", 5, "", study_degrees},
      {"ablation", "Ablation", "Table 4", 5, "", study_ablation},
      {"bridge", "Two clusters and a bridge", "Figure 1", 10, "bridge", study_bridge},
      {"projection", "Narrow attention approximates wide attention", "the theorem of appendix E.1",
       5, "", study_projection},
      {"spectral", "Sampling preserves the attention matrix",
       "the theorem and the proposition of appendix E.2", 3, "", study_spectral},
      {"mixing", "Expander edges let every node see every other", "section 3, the expander", 1, "",
       study_mixing},
  };
  return all;
}

const StudyInfo& find_study(const std::string& name) {
  std::vector<std::string> names;
  for (const StudyInfo& study : studies()) {
    if (study.name == name) return study;
    names.push_back(study.name);
  }
  fail("there is no study called {}{}; there are {}", name, did_you_mean(name, names),
       fmt::join(names, ", "));
}

StudyRecord run_study(const StudyInfo& study, const StudyRequest& request) {
  require(request.seeds > 0, "a study needs at least one seed");
  require(!request.widths.empty() &&
              std::is_sorted(request.widths.begin(), request.widths.end(), std::less_equal<>()),
          "the widths of a study must ascend; got {}", fmt::join(request.widths, ","));
  std::error_code error;
  std::filesystem::create_directories(request.out, error);
  require(!error, "cannot make the folder {}: {}", request.out.string(), error.message());
  Stopwatch watch;
  StudyRecord record = study.make(request);
  record.name = study.name;
  record.title = study.title;
  record.place = study.place;
  record.data = request.data.name;
  record.synthetic = request.data.synthetic;
  record.command = request.command;
  record.settings = settings_of(request);
  record.seconds = watch.seconds();
  save_study(request.out, record);
  return record;
}

}  // namespace spex
