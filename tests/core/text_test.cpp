#include <gtest/gtest.h>
#include <spex/core/error.h>
#include <spex/core/text.h>

namespace spex {
namespace {

TEST(NearestWord, IsSilentWhenNothingIsNear) {
  std::vector<std::string> words = {"train", "estimate", "predict"};
  EXPECT_EQ(nearest_word("trian", words), "train");
  EXPECT_EQ(nearest_word("pedict", words), "predict");
  EXPECT_EQ(nearest_word("xyzzyx", words), "");
  EXPECT_EQ(nearest_word("", {}), "");
}

TEST(ParseSize, KnowsUnitsAndRefusesTheRest) {
  EXPECT_EQ(parse_size("2GiB"), size_t{2} << 30);
  EXPECT_EQ(parse_size("1.5 GB"), 1'500'000'000U);
  EXPECT_EQ(parse_size("800M"), size_t{800} << 20);
  EXPECT_EQ(parse_size("123"), 123U);
  for (const char* text : {"", "GB", "-1GB", "2 parsecs", "0"})
    EXPECT_THROW(parse_size(text), Error) << text;
}

TEST(CsvField, QuotesWhatWouldBreakALine) {
  EXPECT_EQ(csv_field("plain"), "plain");
  EXPECT_EQ(csv_field("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_field("say \"x\""), "\"say \"\"x\"\"\"");
}

TEST(ParseNumber, RefusesWhatIsNotWhollyANumber) {
  EXPECT_EQ(parse_count("12", "x"), 12U);
  EXPECT_EQ(parse_real("0.5", "x"), 0.5);
  for (const char* text : {"", "12a", "-1", "1.5", " 1"})
    EXPECT_THROW(parse_count(text, "x"), Error);
  EXPECT_THROW(parse_real("half", "x"), Error);
}

}  // namespace
}  // namespace spex
