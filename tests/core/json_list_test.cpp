#include <gtest/gtest.h>
#include <spex/core/json_list.h>

namespace spex {
namespace {

TEST(JsonList, TextsComeBackAsTheyWere) {
  for (const std::vector<std::string>& texts :
       {std::vector<std::string>{}, {"one"}, {"a \"quoted\" one", "", "Größe\n"}})
    EXPECT_EQ(parse_json_list(to_json_list(texts)), texts);
}

TEST(JsonList, BytesThatAreNoTextAreReplaced) {
  EXPECT_EQ(to_json_list({"a\xff"}), "[\"a\xEF\xBF\xBD\"]");
}

TEST(JsonList, RefusesWhatIsNoListOfTexts) {
  for (const char* json : {"", "[\"cut", "{\"a\":\"b\"}", "\"a\"", "[\"a\",1]", "null"})
    EXPECT_FALSE(parse_json_list(json)) << json;
}

}  // namespace
}  // namespace spex
