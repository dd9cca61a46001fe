#include <spex/config/config.h>

#include <set>

#include "run/support.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

void set(const std::string& assignment) {
  Config config;
  apply_setting(config, assignment);
}

TEST(Config, UnknownKeyNamesTheNearestOne) {
  EXPECT_SAYS(set("spexphormer.widht=3"),
              "no setting called spexphormer.widht; did you mean spexphormer.width?");
  EXPECT_SAYS(set("estimator.learning-rate=3"), "did you mean estimator.learning_rate?");
  EXPECT_SAYS(set("sed=3"), "did you mean seed?");
  std::string far = message_of([] { set("zzzzzzzzzzzz=3"); });
  EXPECT_EQ(far, "there is no setting called zzzzzzzzzzzz");
}

TEST(Config, UnknownKeyInAFileNamesTheFile) {
  Config config;
  EXPECT_SAYS(
      apply_toml(config, "[spexphormer]\nwidht = 3\n", "my.toml"),
      "my.toml: there is no setting called spexphormer.widht; did you mean spexphormer.width?");
}

TEST(Config, ValueOfTheWrongKindNamesKeyAndValue) {
  EXPECT_SAYS(set("spexphormer.width=wide"),
              "spexphormer.width needs a whole number, 0 or more, not \"wide\"");
  EXPECT_SAYS(set("spexphormer.width=-3"), "spexphormer.width needs a whole number");
  EXPECT_SAYS(set("spexphormer.width=3.5"), "spexphormer.width needs a whole number");
  EXPECT_SAYS(set("spexphormer.width="), "spexphormer.width needs a whole number");
  EXPECT_SAYS(set("spexphormer.dropout=much"), "spexphormer.dropout needs a number, not \"much\"");
  EXPECT_SAYS(set("spexphormer.dropout=nan"), "spexphormer.dropout needs a number, not \"nan\"");
  EXPECT_SAYS(set("spexphormer.dropout=inf"), "spexphormer.dropout needs a number, not \"inf\"");
  EXPECT_SAYS(set("spexphormer.log_scores=yes"), "needs true or false, not \"yes\"");
  EXPECT_SAYS(set("spexphormer.degrees=[]"), "needs a list such as [10, 10]");
  EXPECT_SAYS(set("spexphormer.degrees=[3,,4]"), "spexphormer.degrees needs a whole number");
  EXPECT_SAYS(set("spexphormer.norm=bach"), "possible are none, layer, batch");
  EXPECT_SAYS(set("model=gnc"), "there is no model called gnc; did you mean gcn?");
  EXPECT_SAYS(set("spexphormer.width"), "key=value");
}

TEST(Config, BrokenTomlNamesFileAndLine) {
  Config config;
  EXPECT_SAYS(apply_toml(config, "seed = 1\n[spexphormer\nwidth = 3\n", "my.toml"),
              "my.toml, line 2");
}

TEST(Config, FileAndAssignmentSayTheSame) {
  Config one, other;
  apply_toml(one,
             "model = \"spexphormer\"\nseed = 3\n[spexphormer]\ndegrees = [3, 4]\ndropout = 0.5\n"
             "log_scores = true\nlearning_rate = 1\n[split]\nratio = \"50/25/25\"\n",
             "my.toml");
  for (const char* each :
       {"model=spexphormer", "seed=3", "spexphormer.degrees=[3, 4]", "spexphormer.dropout=0.5",
        "spexphormer.log_scores=true", "spexphormer.learning_rate=1", "split.ratio=50/25/25"})
    apply_setting(other, each);
  EXPECT_EQ(to_toml(one), to_toml(other));
  EXPECT_NE(to_toml(one), to_toml(Config()));
  EXPECT_EQ(final_options(one).degrees, (std::vector<size_t>{3, 4}));
  EXPECT_EQ(one.model, "spexphormer");
  EXPECT_EQ(one.final().recipe.learning_rate, 1.0);
}

// Any value but the default one, in the form of --set.
std::string another_value(const ConfigKey& key) {
  const std::string& value = key.value;
  if (value == "true") return "false";
  if (value == "false") return "true";
  if (value.front() == '[') return "[3, 1, 4]";
  if (value.front() != '"')
    return value.find_first_of(".e") != std::string::npos ? "0.123456789" : "7";
  if (key.key.ends_with(".schedule")) return "constant";
  if (key.key.ends_with(".decay")) return "gradient";
  if (key.key.ends_with(".class_weights")) return "balanced";
  if (key.key == "features.structure") return "degree";
  if (key.key == "split.metric") return "r2";
  if (key.key.ends_with(".norm")) return "layer";
  if (key.key.ends_with(".modulation")) return "sum";
  if (key.key.ends_with(".sampling")) return "top";
  return "a \"quoted\" \\ word # not a comment";
}

TEST(Config, EveryKeySurvivesTheRoundTripThroughToml) {
  Config changed;
  for (const ConfigKey& key : config_keys(Config())) {
    if (key.key == "model") continue;  // another one has other settings
    EXPECT_FALSE(key.meaning.empty()) << key.key;
    apply_setting(changed, key.key + "=" + another_value(key));
  }
  auto before = config_keys(Config()), after = config_keys(changed);
  for (size_t i = 0; i < before.size(); ++i)
    EXPECT_TRUE(before[i].key == "model" || before[i].value != after[i].value) << before[i].key;
  Config read;
  apply_toml(read, to_toml(changed), "config.toml");
  EXPECT_EQ(to_toml(read), to_toml(changed));
}

TEST(Config, EveryModelsSettingsSurviveTheRoundTripThroughToml) {
  for (const ModelInfo& info : models()) {
    Config config(info.name), read;
    apply_toml(read, to_toml(config), "config.toml");
    EXPECT_EQ(to_toml(read), to_toml(config)) << info.name;
    EXPECT_EQ(read.model, info.name);
  }
}

TEST(Config, SettingsOfAnotherModelAreRefusedWithItsName) {
  EXPECT_SAYS(set("gcn.width=3"), "gcn.width is a setting of gcn, and the model is spexphormer");
  EXPECT_SAYS(set("gcn.widht=3"), "no setting called gcn.widht");
}

TEST(Config, SectionsOfOtherModelsAreCheckedAndLeftAlone) {
  Config config("gcn");
  std::string before = to_toml(config);
  apply_toml(config, "[exphormer]\nwidth = 8\n", "my.toml");
  EXPECT_EQ(to_toml(config), before);
  EXPECT_SAYS(apply_toml(config, "[exphormer]\nwidht = 8\n", "my.toml"),
              "my.toml: there is no setting called exphormer.widht; did you mean exphormer.width?");
}

TEST(Config, ValuesOutOfRangeAreRefusedWithTheRange) {
  EXPECT_SAYS(set("spexphormer.width=0"), "spexphormer.width must be from 1 to 1024, not 0");
  EXPECT_SAYS(set("spexphormer.dropout=1"), "must be at least 0 and below 1, not 1");
  EXPECT_SAYS(set("spexphormer.learning_rate=0"), "must be above 0");
  EXPECT_SAYS(set("estimator.gamma=1.5"), "must be above 0 and at most 1");
  EXPECT_SAYS(set("spexphormer.degrees=[3, 0]"), "must be from 1 to 65535, not 0");
  EXPECT_SAYS(set("seeds=0"), "seeds must be from 1 to");
}

TEST(Config, EveryKeyStandsInTheTomlTextOnce) {
  std::multiset<std::string> keys;
  for (const ConfigKey& key : config_keys(Config())) keys.insert(key.key);
  for (const std::string& key : keys) EXPECT_EQ(keys.count(key), 1U) << key;
  EXPECT_GE(keys.size(), 45U);
}

}  // namespace
}  // namespace spex
