// Networks of a training that take settings in turn.
#include <spex/config/config.h>

#include "run/support.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

Config with_variants(const std::string& variants, size_t members = 6) {
  Config config("spexphormer-local");
  config.members = members;
  config.variants = variants;
  return config;
}

// The numbers of layers of its networks.
std::vector<std::string> layers_of(const Config& config) {
  std::vector<std::string> layers;
  for (Phase& phase : network_phases(config)) {
    SettingList settings;
    phase.list(settings);
    layers.push_back(settings.find("layers")->text());
  }
  return layers;
}

TEST(Variants, AreForNetworksInTurn) {
  Config config = with_variants("layers=3 width=32 | | layers=5");
  apply_setting(config, "spexphormer-local.norm=batch");
  EXPECT_EQ(layers_of(config), (std::vector<std::string>{"8", "3", "8", "5"}));
  std::vector<Phase> networks = network_phases(config);
  for (size_t seed = 0; seed < 3; ++seed)
    for (size_t member = 0; member < 6; ++member)
      EXPECT_EQ(turn_of(6 * seed + member, config, networks), member % 4);
  SettingList settings;
  networks[1].list(settings);
  EXPECT_EQ(settings.find("width")->text(), "32");
  EXPECT_EQ(settings.find("norm")->text(), "\"batch\"") << "a setting is for all";
}

TEST(Variants, AreNoMoreThanTheNetworks) {
  EXPECT_EQ(layers_of(with_variants("layers=3 | layers=5", 2)),
            (std::vector<std::string>{"8", "3"}));
  EXPECT_EQ(layers_of(with_variants("layers=3 | layers=5", 1)), (std::vector<std::string>{"8"}));
}

TEST(Variants, ASettingThatIsGivenIsForAllNetworks) {
  Config config = with_variants("layers=3 width=32 | layers=5");
  apply_setting(config, "spexphormer-local.layers=7");
  EXPECT_EQ(config.variants, "width=32 | ");
  EXPECT_EQ(layers_of(config), (std::vector<std::string>{"7", "7", "7"}));
  apply_setting(config, "spexphormer-local.width=16");
  EXPECT_EQ(config.variants, "");
}

TEST(Variants, SurviveTheRoundTripThroughNetworks) {
  for (const char* text : {"", "layers=3 width=32", "layers=3 width=32 |  | norm=none",
                           "layers=3 | layers=5 | dropout=0.25 | conv=gat | heads=4"}) {
    Config config = with_variants(text), again = with_variants("layers=9");
    std::vector<Phase> networks = network_phases(config), all;
    for (size_t n = 0; n < config.members; ++n)
      all.push_back(networks[turn_of(n, config, networks)]);
    take_in_turn(again, all);
    EXPECT_EQ(to_toml(again), to_toml(config)) << text;
    Config read;
    apply_toml(read, to_toml(config), "config.toml");
    EXPECT_EQ(read.variants, text);
  }
}

TEST(Variants, OfAListAreWrittenWithoutSpaces) {
  Config config;
  config.members = 2;
  Config other = config;
  apply_setting(other, "spexphormer.sampling=uniform");
  apply_setting(other, "spexphormer.degrees=[5, 5]");
  std::vector<Phase> networks = {config.final(), other.final()};
  take_in_turn(config, networks);
  EXPECT_EQ(config.variants, "degrees=[5,5] sampling=uniform");
  EXPECT_EQ(to_toml(network_phases(config)[1]), to_toml(other.final()));
}

TEST(Variants, ThatCannotWorkAreRefused) {
  EXPECT_SAYS(check(with_variants("layers=3 | widht=5", 1)),
              "no setting called spexphormer-local.widht; did you mean spexphormer-local.width?");
  EXPECT_SAYS(check(with_variants("layers=0")), "must be");
  EXPECT_SAYS(check(with_variants("layers")), "key=value");
  EXPECT_SAYS(check(with_variants("attention_layers=1 degree=10")), "share hops, eigenvectors");
  Config sign("sign");
  sign.members = 2;
  sign.variants = "hops=5";
  EXPECT_SAYS(check(sign), "share hops, eigenvectors");
  sign.variants = "dropout=0.25";
  check(sign);
}

// Those that attention sees no neighbours drawn by scores in may stand beside one where it does.
TEST(Variants, MayDoWithoutTheScoresOfTheFirst) {
  Config config = with_variants("attention_layers=0 | conv=sage");
  apply_setting(config, "spexphormer-local.degree=10");
  check(config);
  EXPECT_TRUE(needs_of(config).scores);
  EXPECT_FALSE(network_phases(config)[1].model->needs().scores);
  config.variants = "conv=sage | conv=none";
  EXPECT_SAYS(check(config), "the scores they draw by");  // another estimator would serve the last
}

// What a default chose does not stand in the way of what is asked for.
TEST(Variants, ThatCannotHaveASettingAreLeftOut) {
  Config config = with_variants("layers=4 | conv=gat heads=4 | conv=none | ");
  EXPECT_FALSE(drop_impossible_variants(config));
  EXPECT_EQ(config.variants, "layers=4 | conv=gat heads=4 | conv=none | ");
  apply_setting(config, "spexphormer-local.width=50");
  EXPECT_TRUE(drop_impossible_variants(config));
  EXPECT_EQ(config.variants, "layers=4 | conv=none | ") << "four heads do not share 50";
  apply_setting(config, "spexphormer-local.degree=5");
  EXPECT_TRUE(drop_impossible_variants(config));
  EXPECT_EQ(config.variants, "") << "other scores";
  apply_setting(config, "spexphormer-local.layers=1");
  EXPECT_FALSE(drop_impossible_variants(config));
  EXPECT_SAYS(check(config), "attention in 2 of 1 layers");
}

TEST(Variants, EndWithTheirModel) {
  Config config = with_variants("layers=3");
  set_model(config, "gcn");
  EXPECT_EQ(config.variants, "");
}

TEST(Variants, ThatLearnSomethingForEachNodeNeedTheirOwnGraph) {
  Config config("glognn");
  config.members = 2;
  apply_setting(config, "glognn.delta=1");
  EXPECT_FALSE(needs_of(config).own_nodes);
  config.variants = "delta=0.5";
  EXPECT_TRUE(needs_of(config).own_nodes);
}

// Whether the transposed graph is made for prediction.
TEST(Variants, NeedsOfBatchesAreThoseOfTheNetworksNotOfTheirEstimator) {
  Config config("spexphormer");
  EXPECT_EQ(needs_of(config).batching, config.final().model->needs().batching);
  EXPECT_NE(needs_of(config).batching, Batching::none);
}

TEST(Variants, NeedTheGraphsOfAllNetworks) {
  Config config = with_variants("conv=none layers=2");
  apply_setting(config, "spexphormer-local.attention_layers=0");
  EXPECT_FALSE(needs_of(config).attention);
  EXPECT_TRUE(needs_of(config).local);
  config.variants = "attention_layers=1";
  EXPECT_TRUE(needs_of(config).attention);
  config.members = 1;
  EXPECT_FALSE(needs_of(config).attention) << "no network takes it";
}

}  // namespace
}  // namespace spex
