#include <gtest/gtest.h>
#include <spex/core/error.h>
#include <spex/core/files.h>
#include <spex/run/record.h>

#include <bit>
#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "example_record.h"
#include "example_run.h"
#include "run/support.h"

namespace spex {
namespace {

namespace fs = std::filesystem;

void expect_same_bits(double a, double b) {
  if (std::isnan(a))
    EXPECT_TRUE(std::isnan(b));
  else
    EXPECT_EQ(std::bit_cast<uint64_t>(a), std::bit_cast<uint64_t>(b)) << a << " and " << b;
}

TEST(RecordJson, SummaryHasTheDocumentedKeys) {
  auto json = nlohmann::json::parse(to_json(example::record().summary));
  for (const char* key : {"data", "synthetic", "nodes", "edges", "attention_edges", "metric",
                          "model", "test_mean", "test_std", "edges_kept_percent", "estimator",
                          "final", "threads", "seconds", "peak_rss_bytes"})
    EXPECT_TRUE(json.contains(key)) << key;
  for (const char* key : {"test", "epochs", "epoch_seconds", "peak_bytes", "parameters"})
    EXPECT_TRUE(json["estimator"].contains(key)) << key;
  for (const char* key :
       {"seeds", "epochs", "epoch_seconds", "sample_seconds", "peak_bytes", "parameters"})
    EXPECT_TRUE(json["final"].contains(key)) << key;
  EXPECT_EQ(json["final"]["seeds"][1],
            nlohmann::json({{"seed", 1}, {"val", 0.9057}, {"test", 0.8988}, {"best_epoch", 88}}));
}

TEST(RecordJson, SummaryAndDetailsReadBackTheSame) {
  RunRecord record = example::record();
  record.summary.data = "a \"quoted\" \\ folder/<name>";
  record.summary.test_mean = 0.1 + 0.2;
  std::string summary = to_json(record.summary), details = to_json(record.details);
  RunSummary read = parse_summary(summary, "summary.json");
  EXPECT_EQ(to_json(read), summary);
  EXPECT_EQ(read.data, record.summary.data);
  expect_same_bits(read.test_mean, record.summary.test_mean);
  EXPECT_EQ(to_json(parse_details(details, "details.json")), details);
}

TEST(RecordJson, NanIsNull) {
  RunSummary summary = example::record().summary;
  summary.test_std = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(nlohmann::json::parse(to_json(summary))["test_std"].is_null());
  EXPECT_TRUE(std::isnan(parse_summary(to_json(summary), "s").test_std));
}

TEST(RecordJson, RefusalsNameThePlace) {
  auto json = nlohmann::json::parse(to_json(example::record().summary));
  auto changed = [&](const char* pointer, nlohmann::json value) {
    auto copy = json;
    copy[nlohmann::json::json_pointer(pointer)] = std::move(value);
    return copy.dump();
  };
  auto without = json;
  without.erase("nodes");
  EXPECT_SAYS(parse_summary(without.dump(), "s.json"), "s.json: nodes is missing");
  EXPECT_SAYS(parse_summary(changed("/nodes", -1), "s.json"), "nodes must be a whole number");
  EXPECT_SAYS(parse_summary(changed("/final/seeds/2/test", "x"), "s.json"),
              "final: seeds[2]: test must be a number");
  EXPECT_SAYS(parse_summary(changed("/final", 3), "s.json"), "final: expected a JSON object");
  EXPECT_SAYS(parse_summary("{\"data\": ", "s.json"), "s.json is not valid JSON");
}

TEST(RecordJson, DetailsOfUnequalLengthsAreRefused) {
  RunDetails details = example::record().details;
  details.confusion[1].pop_back();
  EXPECT_SAYS(parse_details(to_json(details), "d.json"), "d.json: confusion has 2 rows");
  details = example::record().details;
  details.roc_true_positive.pop_back();
  EXPECT_SAYS(parse_details(to_json(details), "d.json"), "roc_false_positive has 101 values");
  details = example::record().details;
  details.degree_bounds.pop_back();
  EXPECT_SAYS(parse_details(to_json(details), "d.json"), "degree_bounds has 6 values");
}

TEST(MetricsCsv, ReadsBackToTheSameBits) {
  std::vector<EpochRecord> rows = example::record().epochs;
  rows[0].train_loss = 0.1 + 0.2;
  rows[0].train = std::numeric_limits<double>::denorm_min();
  rows[0].validation = -0.0;
  rows[0].test = std::numeric_limits<double>::infinity();
  rows[1].train_loss = 1.0f / 3;
  rows[1].seconds = std::numeric_limits<double>::max();
  rows[1].peak_bytes = std::numeric_limits<size_t>::max();
  std::vector<EpochRecord> read = parse_csv(to_csv(rows), "metrics.csv");
  ASSERT_EQ(read.size(), rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(read[i].phase, rows[i].phase);
    EXPECT_EQ(read[i].seed, rows[i].seed);
    EXPECT_EQ(read[i].epoch, rows[i].epoch);
    EXPECT_EQ(read[i].peak_bytes, rows[i].peak_bytes);
    for (double EpochRecord::*value :
         {&EpochRecord::train_loss, &EpochRecord::train, &EpochRecord::validation,
          &EpochRecord::test, &EpochRecord::learning_rate, &EpochRecord::temperature,
          &EpochRecord::seconds, &EpochRecord::sample_seconds})
      expect_same_bits(rows[i].*value, read[i].*value);
  }
}

TEST(MetricsCsv, NoEpochsIsAHeaderAlone) {
  std::string text = to_csv({});
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  EXPECT_TRUE(parse_csv(text, "m").empty());
}

TEST(MetricsCsv, AcceptsWindowsLineEnds) {
  std::string text = to_csv({});
  text.back() = '\r';
  text += "\nfinal,0,0,1,,,,0.1,1,2,0,5\r\n";
  EXPECT_EQ(parse_csv(text, "m").size(), 1u);
}

TEST(MetricsCsv, ABadLineIsNamedByItsNumber) {
  std::string good = to_csv({}) + "final,0,0,1,,,,0.1,1,2,0,5\n";
  EXPECT_SAYS(parse_csv("", "m.csv"), "m.csv, line 1: expected the header");
  EXPECT_SAYS(parse_csv("a,b\n", "m.csv"), "m.csv, line 1: expected the header");
  EXPECT_SAYS(parse_csv(good + "final,0,1\n", "m.csv"),
              "m.csv, line 3: expected 12 fields, found 3");
  EXPECT_SAYS(parse_csv(good + "\n", "m.csv"), "line 3: expected 12 fields, found 1");
  EXPECT_SAYS(parse_csv(good + "final,0,1,zero,,,,1,1,1,1,1\n", "m.csv"),
              "line 3: expected a number, not \"zero\"");
  EXPECT_SAYS(parse_csv(good + "final,-1,1,0,,,,1,1,1,1,1\n", "m.csv"),
              "line 3: expected a whole number, 0 or more, not \"-1\"");
  EXPECT_SAYS(parse_csv(good + ",0,1,0,,,,1,1,1,1,1\n", "m.csv"), "line 3: the phase is empty");
  EXPECT_SAYS(parse_csv(good + "final,0,1,0,,,,1,1,1,1,1,7\n", "m.csv"), "found 13");
}

TEST(RunDirectory, LoadsAsItWasWritten) {
  RunRecord written = example::record(), read = load_record(example::Run(written).path);
  EXPECT_EQ(to_json(read.summary), to_json(written.summary));
  EXPECT_EQ(to_json(read.details), to_json(written.details));
  EXPECT_EQ(to_csv(read.epochs), to_csv(written.epochs));
  ASSERT_EQ(read.config.size(), written.config.size());
  for (size_t i = 0; i < read.config.size(); ++i)
    EXPECT_EQ(read.config[i].value, written.config[i].value) << read.config[i].key;
}

TEST(RunDirectory, AMissingOrBrokenFileIsNamed) {
  example::Run files(example::record());
  const fs::path& run = files.path;
  for (const char* name : {"summary.json", "details.json", "metrics.csv", "config.toml"}) {
    std::string whole = read_text(run / name);
    write_text(run / name, "{]");
    EXPECT_SAYS(load_record(run), (run / name).string());
    fs::remove(run / name);
    EXPECT_SAYS(load_record(run), std::string("has no ") + name);
    write_text(run / name, whole);
  }
}

}  // namespace
}  // namespace spex
