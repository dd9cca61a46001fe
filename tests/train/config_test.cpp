#include <spex/train/config.h>

#include <set>

#include "train/support.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

void set(const std::string& assignment) {
  Config config;
  apply_setting(config, assignment);
}

TEST(Config, UnknownKeyNamesTheNearestOne) {
  EXPECT_SAYS(set("final.widht=3"), "no setting called final.widht; did you mean final.width?");
  EXPECT_SAYS(set("estimator.learning-rate=3"), "did you mean estimator.learning_rate?");
  EXPECT_SAYS(set("sed=3"), "did you mean seed?");
  std::string far = message_of([] { set("zzzzzzzzzzzz=3"); });
  EXPECT_EQ(far, "there is no setting called zzzzzzzzzzzz");
}

TEST(Config, UnknownKeyInAFileNamesTheFile) {
  Config config;
  EXPECT_SAYS(apply_toml(config, "[final]\nwidht = 3\n", "my.toml"),
              "my.toml: there is no setting called final.widht; did you mean final.width?");
}

TEST(Config, ValueOfTheWrongKindNamesKeyAndValue) {
  EXPECT_SAYS(set("final.width=wide"), "final.width needs a whole number, 0 or more, not \"wide\"");
  EXPECT_SAYS(set("final.width=-3"), "final.width needs a whole number");
  EXPECT_SAYS(set("final.width=3.5"), "final.width needs a whole number");
  EXPECT_SAYS(set("final.width="), "final.width needs a whole number");
  EXPECT_SAYS(set("final.dropout=much"), "final.dropout needs a number, not \"much\"");
  EXPECT_SAYS(set("final.dropout=nan"), "final.dropout needs a number, not \"nan\"");
  EXPECT_SAYS(set("final.dropout=inf"), "final.dropout needs a number, not \"inf\"");
  EXPECT_SAYS(set("final.log_scores=yes"), "needs true or false, not \"yes\"");
  EXPECT_SAYS(set("final.degrees=[]"), "needs a list such as [10, 10]");
  EXPECT_SAYS(set("final.degrees=[3,,4]"), "final.degrees needs a whole number");
  EXPECT_SAYS(set("final.norm=bach"), "possible are layer, batch, graph");
  EXPECT_SAYS(set("model=gcn"), "possible are spexphormer, exphormer");
  EXPECT_SAYS(set("final.width"), "key=value");
}

TEST(Config, BrokenTomlNamesFileAndLine) {
  Config config;
  EXPECT_SAYS(apply_toml(config, "seed = 1\n[final\nwidth = 3\n", "my.toml"), "my.toml, line 2");
}

TEST(Config, FileAndAssignmentSayTheSame) {
  Config one, other;
  apply_toml(one,
             "model = \"exphormer\"\nseed = 3\n[final]\ndegrees = [3, 4]\ndropout = 0.5\n"
             "log_scores = true\nlearning_rate = 1\n[split]\nratio = \"50/25/25\"\n",
             "my.toml");
  for (const char* each :
       {"model=exphormer", "seed=3", "final.degrees=[3, 4]", "final.dropout=0.5",
        "final.log_scores=true", "final.learning_rate=1", "split.ratio=50/25/25"})
    apply_setting(other, each);
  EXPECT_EQ(to_toml(one), to_toml(other));
  EXPECT_NE(to_toml(one), to_toml(Config()));
  EXPECT_EQ(one.final.degrees, (std::vector<size_t>{3, 4}));
  EXPECT_EQ(one.model, Model::exphormer);
  EXPECT_EQ(one.final.optimiser.learning_rate, 1.0);
}

// Any value but the default one, in the form of --set.
std::string another_value(const ConfigKey& key) {
  const std::string& value = key.value;
  if (value == "true") return "false";
  if (value == "false") return "true";
  if (value.front() == '[') return "[3, 1, 4]";
  if (value.front() != '"')
    return value.find_first_of(".e") != std::string::npos ? "0.123456789" : "7";
  if (key.key == "model") return "exphormer";
  if (key.key == "split.metric") return "r2";
  if (key.key.ends_with(".norm")) return "layer";
  if (key.key.ends_with(".modulation")) return "sum";
  if (key.key.ends_with(".sampling")) return "top";
  return "a \"quoted\" \\ word # not a comment";
}

TEST(Config, EveryKeySurvivesTheRoundTripThroughToml) {
  Config changed;
  for (const ConfigKey& key : config_keys(Config())) {
    EXPECT_FALSE(key.meaning.empty()) << key.key;
    apply_setting(changed, key.key + "=" + another_value(key));
  }
  auto before = config_keys(Config()), after = config_keys(changed);
  for (size_t i = 0; i < before.size(); ++i)
    EXPECT_NE(before[i].value, after[i].value) << before[i].key;
  Config read;
  apply_toml(read, to_toml(changed), "config.toml");
  EXPECT_EQ(to_toml(read), to_toml(changed));
}

TEST(Config, EveryKeyStandsInTheTomlTextOnce) {
  std::multiset<std::string> keys;
  for (const ConfigKey& key : config_keys(Config())) keys.insert(key.key);
  for (const std::string& key : keys) EXPECT_EQ(keys.count(key), 1U) << key;
  EXPECT_GE(keys.size(), 45U);
}

TEST(NearestWord, IsSilentWhenNothingIsNear) {
  std::vector<std::string> words = {"train", "estimate", "predict"};
  EXPECT_EQ(nearest_word("trian", words), "train");
  EXPECT_EQ(nearest_word("pedict", words), "predict");
  EXPECT_EQ(nearest_word("xyzzyx", words), "");
  EXPECT_EQ(nearest_word("", {}), "");
}

}  // namespace
}  // namespace spex
