#include <gtest/gtest.h>
#include <spex/core/error.h>
#include <spex/core/safetensors.h>
#include <spex/data/fingerprint.h>
#include <spex/study/score_set.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "study/support.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT
namespace fs = std::filesystem;

void expect_columns_exist(const StudyRecord& record) {
  const StudyTable& t = record.table;
  for (const StudyFigure& figure : record.figures) {
    bool heat = figure.kind == "heat";
    EXPECT_TRUE(heat || figure.kind == "lines" || figure.kind == "bars") << figure.title;
    figure.kind == "lines" ? t.value_column(figure.x) : t.name_column(figure.x);
    heat ? t.name_column(figure.y) : t.value_column(figure.y);
    if (heat) t.value_column(figure.value);
    if (!figure.series.empty()) t.name_column(figure.series);
    if (!figure.low.empty()) t.value_column(figure.low), t.value_column(figure.high);
    for (const std::string& rule : figure.only) t.name_column(rule.substr(0, rule.find('=')));
    EXPECT_TRUE(heat || (!figure.x_title.empty() && !figure.y_title.empty())) << figure.title;
  }
}

class EveryStudy : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryStudy, GivesATableFiguresAndVerdictsThatReadBack) {
  TemporaryFolder folder;
  const StudyInfo& info = find_study(GetParam());
  StudyRequest request = quick_request(folder.path);
  if (info.name == "bridge" || info.name == "ablation") request.seeds = 1;
  StudyRecord record = run_study(info, request);
  EXPECT_FALSE(record.table.rows.empty());
  EXPECT_FALSE(record.figures.empty());
  EXPECT_FALSE(record.choices.empty());
  ASSERT_FALSE(record.findings.empty());
  for (const StudyFinding& finding : record.findings)
    EXPECT_FALSE(finding.claim.empty() || finding.rule.empty() || finding.numbers.empty());
  ASSERT_NO_THROW(expect_columns_exist(record));
  EXPECT_TRUE(fs::exists(folder.path / (info.name + ".csv")));
  std::vector<StudyRecord> read = load_studies(folder.path);
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(to_json(read.front()), to_json(record));
}

std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (const StudyInfo& study : studies()) names.push_back(study.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Study, EveryStudy, ::testing::ValuesIn(all_names()), [](const auto& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

// Puts made scores in place of trained ones: all of a row's attention on its first or last entry,
// or the same on each. `first` is asked for each file.
using FirstOf = std::function<std::optional<bool>(const fs::path&)>;
void write_scores(const StudyRequest& request, Scenario scenario, size_t width,
                  const FirstOf& first_of) {
  ScoreSet set = make_score_set(request, scenario);
  fs::path folder = request.out / "scores" / (scenario == Scenario::graph ? "graph" : "expander") /
                    fmt::format("width-{}", width);
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".safetensors") files.push_back(entry.path());
  for (const fs::path& file : files) {
    Scores scores;
    scores.metadata = Safetensors::open(file).metadata();
    for (size_t l = 0; l < set.layers; ++l) {
      std::vector<float> values(set.graph.edges(), 0.0F);
      std::optional<bool> first = first_of(file);
      for (size_t i = 0; i < set.graph.nodes(); ++i) {
        EdgeOffset begin = set.graph.offsets[i], end = set.graph.offsets[i + 1];
        if (first)
          values[*first ? begin : end - 1] = 1.0F;
        else
          std::fill(values.begin() + begin, values.begin() + end, 1.0F / (end - begin));
      }
      Buffer<Half> layer(values.size(), MemoryTag::scores);
      to_half(layer.span(), values);
      scores.layers.emplace_back(std::move(layer));
    }
    save_scores(file, scores, run_fingerprint(set.graph, fingerprint(request.data)));
  }
}

TEST(StudyVerdict, FollowsTheScores) {
  TemporaryFolder folder;
  StudyRequest request = quick_request(folder.path);
  for (bool alike : {true, false}) {
    for (Scenario scenario : {Scenario::graph, Scenario::expander}) {
      write_scores(request, scenario, 4, [](const fs::path&) { return true; });
      write_scores(request, scenario, 8, [&](const fs::path&) { return alike; });
    }
    StudyRecord record = run_study(find_study("energy"), request);
    for (const StudyFinding& finding : record.findings)
      EXPECT_EQ(finding.agrees, alike) << finding.numbers;
  }
}

// All attention of a row on one neighbour: no entropy, and the largest score is the whole sum.
TEST(StudyVerdict, OfOneNeighbourAlone) {
  TemporaryFolder folder;
  StudyRequest request = quick_request(folder.path);
  for (Scenario scenario : {Scenario::graph, Scenario::expander})
    for (size_t width : request.widths)
      write_scores(request, scenario, width, [](const fs::path&) { return true; });
  StudyRecord top = run_study(find_study("topk"), request);
  size_t mean = top.table.value_column("mean");
  for (const StudyRow& row : top.table.rows) EXPECT_EQ(row.values[mean], 1.0);
  std::vector<bool> verdicts;
  for (const StudyFinding& finding : top.findings) verdicts.push_back(finding.agrees);
  EXPECT_EQ(verdicts, (std::vector<bool>{true, false, true, true, false, true}));
  StudyRecord spread = run_study(find_study("entropy"), request);
  for (const StudyRow& row : spread.table.rows)
    EXPECT_EQ(row.values[spread.table.value_column("entropy")], 0.0);
  for (const StudyFinding& finding : spread.findings) EXPECT_FALSE(finding.agrees);
}

TEST(StudyVerdict, OfScoresThatAreAllAlike) {
  TemporaryFolder folder;
  StudyRequest request = quick_request(folder.path);
  for (Scenario scenario : {Scenario::graph, Scenario::expander})
    for (size_t width : request.widths)
      write_scores(request, scenario, width, [](const fs::path&) { return std::nullopt; });
  StudyRecord spread = run_study(find_study("entropy"), request);
  size_t relative = spread.table.value_column("entropy / ln(degree)");
  for (const StudyRow& row : spread.table.rows) EXPECT_NEAR(row.values[relative], 1.0, 2e-3);
}

// Ten of 144 nodes, and what they see of a field of mines with all edges: a ring more a layer.
TEST(Expansion, CountsEveryNodeOnce) {
  TemporaryFolder folder;
  StudyRequest request = quick_request(folder.path);
  StudyRecord record = run_study(find_study("expansion"), request);
  size_t nodes = record.table.value_column("nodes"),
         layer = record.table.value_column("layers back");
  for (const StudyRow& row : record.table.rows) {
    EXPECT_LE(row.values[nodes], 144.0) << row.names[0];
    if (row.values[layer] == 0) {
      EXPECT_EQ(row.values[nodes], 10.0);
    }
  }
}

// Layers of a network that are the same, in networks that differ: distances come out below zero.
TEST(StudyVerdict, DistancesBelowZeroAreNoDifferenceBetweenLayers) {
  TemporaryFolder folder;
  StudyRequest request = quick_request(folder.path);
  for (Scenario scenario : {Scenario::graph, Scenario::expander})
    for (size_t width : request.widths)
      write_scores(request, scenario, width,
                   [](const fs::path& file) { return file.stem() == "seed-0"; });
  StudyRecord record = run_study(find_study("layers"), request);
  EXPECT_LT(record.table.rows.front().values[0], 0.0);
  for (const StudyFinding& finding : record.findings) EXPECT_FALSE(finding.agrees);
}

TEST(Studies, OfAFolderAndTheFoldersInIt) {
  TemporaryFolder folder;
  for (const char* data : {"a", "b"}) {
    StudyRecord record;
    record.name = "mixing";
    record.data = data;
    fs::create_directories(folder.path / data);
    save_study(folder.path / data, record);
  }
  std::vector<StudyRecord> read = load_studies(folder.path);
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[1].data, "b");
  EXPECT_TRUE(load_studies(folder.path / "nowhere").empty());
}

TEST(Studies, AnUnknownNameGetsTheNearest) {
  try {
    find_study("enrgy");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean energy"), std::string::npos);
  }
}

TEST(Studies, ATableIsWrittenAsCsv) {
  StudyTable table;
  table.names = {"a, b"};
  table.values = {"x"};
  table.add({"one"}, {0.5});
  table.add({"two"}, {std::nan("")});
  EXPECT_EQ(to_csv(table), "\"a, b\",x\none,0.5\ntwo,\n");
  EXPECT_THROW(table.add({}, {1}), Error);
}

}  // namespace
}  // namespace spex
