// The report in headless Chromium: nothing fails, every chart draws, the numbers shown are those of
// summary.json. The environment variable SPEX_REPORT_RUN names a run directory to look at as well
// (scripts/check-report). Skipped where there is no Chromium.
#include <gtest/gtest.h>
#include <spex/core/error.h>
#include <spex/core/files.h>
#include <spex/report/report.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <regex>
#include <sstream>

#include "example_record.h"
#include "example_run.h"
#include "example_study.h"

namespace spex {
namespace {

namespace fs = std::filesystem;

// The page after its scripts have run. Own profile, no network, and an end after a minute.
std::string dump_page(const fs::path& run, int width) {
  fs::path work = fs::temp_directory_path() / ("spex_browser_" + std::to_string(::getpid()));
  fs::create_directories(work);
  fs::path profile = work / "profile", dom = work / "dom.html", log = work / "log";
  std::string command = fmt::format(
      "timeout 60 chromium --headless --no-sandbox --disable-gpu --no-first-run "
      "--disable-background-networking --disable-component-update --disable-sync "
      "--disable-dev-shm-usage --host-resolver-rules='MAP * ~NOTFOUND' --user-data-dir='{}' "
      "--window-size={},900 --virtual-time-budget=5000 --dump-dom 'file://{}#selfcheck' "
      ">'{}' 2>'{}'",
      profile.string(), width, fs::absolute(run / "report.html").string(), dom.string(),
      log.string());
  int status = std::system(command.c_str());
  EXPECT_EQ(status, 0) << command << "\n" << read_text(log);
  std::string text = read_text(dom);
  fs::remove_all(work);
  return text;
}

std::string attribute(const std::string& page, const std::string& name) {
  std::smatch found;
  std::string root = page.substr(0, page.find('>', page.find("<html")));
  std::regex pattern("data-" + name + "=\"([^\"]*)\"");
  return std::regex_search(root, found, pattern) ? found[1].str() : "(missing)";
}

// What the reader sees, without scripts and data.
std::string body(const std::string& page) {
  size_t start = page.find("<main");
  return page.substr(start, page.find("</main>") - start);
}

// "12.3 MB" and "1,234" as plain numbers; a bare or percent number stays as it is.
double quantity(std::string text) {
  static const std::map<std::string, double> units = {
      {"", 1},      {"%", 1},     {"B", 1}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9},
      {"TB", 1e12}, {"ms", 1e-3}, {"s", 1}, {"min", 60}, {"h", 3600}};
  std::erase(text, ',');
  std::istringstream stream(text);
  double value = 0;
  std::string unit;
  if (!(stream >> value)) return std::numeric_limits<double>::quiet_NaN();  // shown as a dash
  stream >> unit;
  return value * units.at(unit);
}

// Every number the page shows under a name of summary.json.
std::map<std::string, double> figures(const std::string& page) {
  std::map<std::string, double> shown;
  std::regex figure("data-figure=\"([^\"]+)\">([^<]*)<");
  for (std::sregex_iterator it(page.begin(), page.end(), figure), end; it != end; ++it)
    shown[(*it)[1]] = quantity((*it)[2]);
  return shown;
}

std::map<std::string, double> expected_figures(const RunSummary& s) {
  auto number = [](size_t n) { return static_cast<double>(n); };
  std::map<std::string, double> out = {{"test_mean", 100 * s.test_mean},
                                       {"nodes", number(s.nodes)},
                                       {"edges", number(s.edges)},
                                       {"attention_edges", number(s.attention_edges)},
                                       {"edges_kept_percent", s.edges_kept_percent},
                                       {"seconds", s.seconds},
                                       {"peak_rss_bytes", number(s.peak_rss_bytes)},
                                       {"threads", number(s.threads)}};
  if (s.seeds.size() > 1) out["test_std"] = 100 * s.test_std;
  for (size_t i = 0; i < s.seeds.size(); ++i) {
    std::string seed = fmt::format("seed_{}_", i);
    out[seed + "val"] = 100 * s.seeds[i].validation;
    out[seed + "test"] = 100 * s.seeds[i].test;
    out[seed + "best_epoch"] = number(s.seeds[i].best_epoch);
  }
  auto add_phase = [&](const std::string& phase, const PhaseSummary& p) {
    out[phase + "_parameters"] = number(p.parameters);
    out[phase + "_epochs"] = number(p.epochs);
    out[phase + "_epoch_seconds"] = p.epoch_seconds;
    out[phase + "_peak_bytes"] = number(p.peak_bytes);
  };
  add_phase("final", s.final);
  if (s.final.sample_seconds > 0) out["final_sample_seconds"] = s.final.sample_seconds;
  if (s.estimator.epochs > 0) {
    add_phase("estimator", s.estimator);
    out["estimator_test"] = 100 * s.estimator_test;
  }
  return out;
}

// Counts are shown whole, percents to two digits (the share kept: one), the rest to three figures.
double tolerance(const std::string& name, double value) {
  if (name == "edges_kept_percent") return 0.051;
  bool percent = name.starts_with("test_") || name.ends_with("_test") || name.ends_with("_val");
  if (percent) return 0.0051;
  return name.ends_with("seconds") || name.ends_with("bytes") ? 0.0051 * value : 0;
}

void expect_same_figures(const std::string& page, const RunSummary& summary) {
  auto shown = figures(page);
  auto expected = expected_figures(summary);
  EXPECT_EQ(shown.size(), expected.size());
  for (const auto& [name, value] : expected) {
    ASSERT_TRUE(shown.contains(name)) << name << " is not shown";
    if (std::isnan(value))
      EXPECT_TRUE(std::isnan(shown[name])) << name;
    else
      EXPECT_NEAR(shown[name], value, tolerance(name, value)) << name;
  }
}

// "loss-spexphormer:812 roc:991": every chart by name and the pixels its data covers.
std::map<std::string, size_t> charts(const std::string& page) {
  std::map<std::string, size_t> out;
  std::istringstream stream(attribute(page, "charts"));
  for (std::string entry; stream >> entry;) {
    size_t colon = entry.find(':');
    out[entry.substr(0, colon)] = std::stoul(entry.substr(colon + 1));
  }
  return out;
}

// What every page must be: whole, inside the window, with data in all of its charts.
std::string check_drawn(const fs::path& run, int width = 1100) {
  std::string page = dump_page(run, width);
  EXPECT_EQ(attribute(page, "selfcheck"), "done");
  EXPECT_EQ(attribute(page, "problems"), "");
  EXPECT_EQ(attribute(page, "overflow"), "0") << "the page is wider than the window";
  EXPECT_EQ(body(page).find("[object "), std::string::npos) << "an object is shown as text";
  EXPECT_EQ(body(page).find("undefined"), std::string::npos);
  EXPECT_EQ(body(page).find("NaN"), std::string::npos);
  if (testing::Test::HasFailure()) return page;
  for (const auto& [name, pixels] : charts(page)) EXPECT_GT(pixels, 10u) << name << " is empty";
  return page;
}

std::string check_page(const fs::path& run, int width = 1100) {
  std::string page = check_drawn(run, width);
  if (!testing::Test::HasFailure()) expect_same_figures(page, load_record(run).summary);
  return page;
}

std::string check_record(const RunRecord& record, int width = 1100) {
  example::Run files(record);
  write_report(files.path);
  return check_page(files.path, width);
}

class ReportInBrowser : public testing::Test {
 protected:
  void SetUp() override {
    if (std::system("command -v chromium >/dev/null") != 0)
      GTEST_SKIP() << "there is no chromium here: scripts/install-deps --browser installs it";
  }
};

TEST_F(ReportInBrowser, DrawsEveryChartAndShowsTheSummary) {
  std::string page = check_record(example::record());
  auto drawn = charts(page);
  for (const char* name :
       {"loss-estimator", "metric-estimator", "loss-spexphormer", "metric-spexphormer",
        "learning-rate", "temperature", "entropy", "edge-types", "top-scores", "roc", "degrees",
        "precision-recall", "calibration"})
    EXPECT_TRUE(drawn.contains(name)) << name;
  for (const char* text :
       {"synthetic data", "By class", "73.8 %", "Largest mistakes", "818", "Where one node looks",
        "one answer for all", "the estimator alone", "2026-01-02 03:04 UTC",
        "spex train minesweeper --seeds 3", "How much was kept", "Confusion matrix", "Expander",
        "read the data", "spexphormer.learning_rate"})
    EXPECT_NE(body(page).find(text), std::string::npos) << text;
}

TEST_F(ReportInBrowser, ShowsQuantitiesAndPlainWords) {
  RunRecord record = example::record();
  record.summary.metric = "r2";
  record.summary.estimator_test = 0.95;
  record.details.confusion.clear();
  record.details.roc_false_positive.clear();
  record.details.roc_true_positive.clear();
  record.details.recall.clear();
  record.details.precision.clear();
  record.details.calibration_predicted.clear();
  record.details.calibration_right.clear();
  record.details.calibration_nodes.clear();
  for (size_t i = 0; i < 200; ++i) {
    record.details.true_values.push_back(std::sin(double(i)));
    record.details.predicted_values.push_back(std::sin(double(i)) +
                                              0.1 * std::cos(3.0 * double(i)));
  }
  std::string page = check_record(record);
  for (const char* name : {"values", "residuals"}) EXPECT_TRUE(charts(page).contains(name)) << name;
  EXPECT_NE(body(page).find("The estimator alone is better"), std::string::npos);
}

TEST_F(ReportInBrowser, TellsWhatNetworksTakeInTurn) {
  RunRecord record = example::record();
  for (size_t network = 0; network < 6; ++network)
    record.details.networks.push_back({network, 0.9, 0.89, 10 + network});
  example::Run files(record);
  Config config;
  config.data = record.summary.data;
  config.members = 2;
  write_text(files.path / "config.toml", kRunHeader + to_toml(config));
  write_report(files.path);
  EXPECT_NE(body(check_drawn(files.path)).find("2 networks from other random weights"),
            std::string::npos);
  config.variants = "layers=4 norm=none | layers=5";
  write_text(files.path / "config.toml", kRunHeader + to_toml(config));
  write_report(files.path);
  EXPECT_NE(body(check_drawn(files.path)).find("(1) as under Settings, (2) layers=4 norm=none."),
            std::string::npos);
}

TEST_F(ReportInBrowser, FitsANarrowWindow) {
  check_record(example::record(),
               500);  // the narrowest Chromium opens; below 700 the page is one column
}

TEST_F(ReportInBrowser, LeavesOutWhatExphormerLacks) {
  RunRecord record = example::exphormer_record();
  record.summary.synthetic = false;
  std::string page = check_record(record);
  auto drawn = charts(page);
  EXPECT_TRUE(drawn.contains("loss-exphormer"));
  for (const char* name : {"loss-estimator", "temperature", "entropy", "edge-types", "top-scores"})
    EXPECT_FALSE(drawn.contains(name)) << name;
  EXPECT_EQ(body(page).find("synthetic data"), std::string::npos);
  EXPECT_EQ(body(page).find("How much was kept"), std::string::npos);
}

TEST_F(ReportInBrowser, ShowsARunOfOneSeedWithoutDetails) {
  RunRecord record = example::exphormer_record();
  record.details = {};
  record.summary.seeds.resize(1);
  record.summary.data = "</script><b onclick=x>\"'&";
  std::string page = check_record(record);
  EXPECT_NE(body(page).find("script&gt;&lt;b onclick=x&gt;\"'&amp;</h1>"), std::string::npos);
}

TEST_F(ReportInBrowser, ShowsWhatHasNoValueAsADash) {
  RunRecord record = example::record();
  const double none = std::numeric_limits<double>::quiet_NaN();
  record.summary.test_mean = record.summary.test_std = record.summary.seeds[1].test = none;
  record.summary.estimator_test = record.summary.edges_kept_percent = none;
  check_record(record);
}

TEST_F(ReportInBrowser, ShowsARunOfOneEpoch) {
  RunRecord record = example::record();
  std::erase_if(record.epochs, [](const EpochRecord& row) { return row.epoch > 0; });
  EXPECT_TRUE(charts(check_record(record)).contains("loss-spexphormer"));
}

TEST_F(ReportInBrowser, DrawsAComparison) {
  Comparison comparison{"mines <b>", "roc_auc", {}};
  for (const char* name : {"gcn", "mlp"}) {
    ComparedModel model;
    model.model = name;
    for (size_t i = 0; i < 3; ++i)
      model.runs.push_back({i, 0, 0.8, 0.8 + 0.01 * static_cast<double>(i)});
    model.epoch_seconds = 0.02;
    model.seconds = 3.0;
    model.peak_bytes = 30'000'000;
    model.parameters = 1000;
    for (size_t e = 0; e < 5; ++e) {
      EpochRecord row;
      row.epoch = e;
      row.validation = 0.5 + 0.05 * static_cast<double>(e);
      model.curve.push_back(row);
    }
    comparison.models.push_back(model);
  }
  mark_best(comparison.models);
  example::Run files(example::record());
  write_text(files.path / "report.html", render_comparison(comparison));
  std::string page = check_drawn(files.path);
  for (const char* name : {"spread", "time", "memory", "curves"})
    EXPECT_TRUE(charts(page).contains(name)) << name;
  EXPECT_NE(body(page).find("(best)"), std::string::npos);
}

TEST_F(ReportInBrowser, ShowsTheRunThatWasAskedFor) {
  const char* run = std::getenv("SPEX_REPORT_RUN");
  if (!run) GTEST_SKIP() << "SPEX_REPORT_RUN names no run directory";
  check_page(run);
}

TEST_F(ReportInBrowser, DrawsEveryFigureOfAStudy) {
  example::Run files(example::record());
  write_text(files.path / "report.html",
             render_studies({example::study("a"), example::study("b")}));
  for (int width : {1100, 500}) {
    std::string page = check_drawn(files.path, width);
    EXPECT_EQ(charts(page).size(), 2u * 3);  // two panels of lines and one of bars, each
    EXPECT_NE(body(page).find("does not agree"), std::string::npos);
  }
}

}  // namespace
}  // namespace spex
