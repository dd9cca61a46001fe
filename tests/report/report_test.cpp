#include <gtest/gtest.h>
#include <spex/core/error.h>
#include <spex/core/files.h>
#include <spex/report/report.h>

#include <nlohmann/json.hpp>
#include <regex>

#include "example_record.h"
#include "example_run.h"
#include "example_study.h"

namespace spex {
namespace {

size_t occurrences(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++count;
  return count;
}

nlohmann::json data_of(const std::string& page) {
  const std::string open = R"(<script type="application/json" id="run">)";
  size_t start = page.find(open) + open.size();
  return nlohmann::json::parse(page.substr(start, page.find("</script>", start) - start));
}

TEST(Report, CarriesTheWholeRecord) {
  RunRecord record = example::record();
  auto data = data_of(render_report(record));
  EXPECT_EQ(data["summary"], nlohmann::json::parse(to_json(record.summary)));
  EXPECT_EQ(data["details"], nlohmann::json::parse(to_json(record.details)));
  ASSERT_EQ(data["curves"].size(), 4u);
  EXPECT_EQ(data["curves"][0]["phase"], "estimator");
  EXPECT_EQ(data["curves"][3]["seed"], 2);
  EXPECT_EQ(data["curves"][3]["epoch"].size(), 100u);
  EXPECT_EQ(data["config"].size(), record.config.size());
}

TEST(Report, AnEpochWithoutEvaluationIsNull) {
  auto curve = data_of(render_report(example::record()))["curves"][1];
  EXPECT_TRUE(curve["test"][0].is_number());
  EXPECT_TRUE(curve["test"][1].is_null());
  EXPECT_TRUE(curve["train_loss"][1].is_number());
}

TEST(Report, NamesCannotBecomeMarkup) {
  RunRecord record = example::record();
  const std::string hostile = "</script><script>alert(1)</script><!-- & {{style}}";
  record.summary.data = hostile;
  record.details.class_names = {hostile, hostile};
  size_t scripts = occurrences(render_report(example::record()), "<script");
  std::string page = render_report(record);
  EXPECT_EQ(occurrences(page, "<script"), scripts);
  EXPECT_EQ(occurrences(page, "<!--"), 0u);
  EXPECT_EQ(data_of(page)["summary"]["data"], hostile);
}

TEST(Report, InvalidUtf8IsReplaced) {
  RunRecord record = example::record();
  record.summary.data = "caf\xe9";
  EXPECT_EQ(data_of(render_report(record))["summary"]["data"], "caf\xef\xbf\xbd");
}

TEST(Report, FetchesNothing) {
  std::string page = render_report(example::record());
  EXPECT_EQ(occurrences(page, "{{title}}") + occurrences(page, "{{data}}"), 0u);
  std::regex fetching(R"(<link|<img|<iframe|@import|url\(|\ssrc=|fetch\(|XMLHttpRequest)");
  std::smatch found;
  EXPECT_FALSE(std::regex_search(page, found, fetching)) << found.str();
}

TEST(Report, AnEmptyRecordStillRenders) {
  auto data = data_of(render_report(RunRecord{}));
  EXPECT_TRUE(data["curves"].empty());
  EXPECT_TRUE(data["config"].empty());
}

TEST(WriteReport, LeavesThePageInTheRunDirectory) {
  example::Run run(example::record());
  write_report(run.path);
  EXPECT_EQ(read_text(run.path / "report.html"), render_report(load_record(run.path)));
  EXPECT_FALSE(std::filesystem::exists(run.path / "report.html.partial"));
}

TEST(WriteReport, RefusesADirectoryThatIsNoRun) {
  example::Run run(example::record());
  std::filesystem::remove(run.path / "summary.json");
  EXPECT_THROW(write_report(run.path), Error);
  EXPECT_FALSE(std::filesystem::exists(run.path / "report.html"));
}

TEST(StudyPage, CarriesTheWholeRecordOfEveryStudy) {
  StudyRecord hostile = example::study("</script><script>alert(1)</script>");
  std::string page = render_studies({example::study(), hostile});
  auto data = data_of(page);
  ASSERT_EQ(data.size(), 2u);
  EXPECT_EQ(data[0], nlohmann::json::parse(to_json(example::study())));
  EXPECT_EQ(data[1]["data"], hostile.data);
  EXPECT_EQ(occurrences(page, "alert(1)</script>"), 0u);
}

TEST(WriteReport, GathersTheStudiesOfAFolder) {
  example::Run run(example::record());
  std::filesystem::remove(run.path / "config.toml");
  for (const char* data : {"a", "b"}) {
    std::filesystem::create_directories(run.path / data);
    save_study(run.path / data, example::study(data));
  }
  write_report(run.path);
  EXPECT_EQ(data_of(read_text(run.path / "report.html")).size(), 2u);
}

// Not a test: `test_report --gtest_also_run_disabled_tests --gtest_filter=*Example*` leaves a run
// to look at in the build directory, for scripts/screenshot-report.
TEST(WriteReport, DISABLED_ExampleToLookAt) {
  example::Run run(example::record());
  write_report(run.path);
  std::filesystem::copy(
      run.path, SPEX_BINARY_DIR "/example_run",
      std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing);
}

}  // namespace
}  // namespace spex
