// What a search draws.
#include <spex/run/search_space.h>

#include <algorithm>
#include <set>

#include "run/support.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

TEST(SearchSpace, EveryModelHasOneWhoseDrawsCanBeTrained) {
  for (const ModelInfo& info : models()) {
    Config config(info.name);
    SearchSpace space = search_space(config);
    EXPECT_GE(space.size(), 3U) << info.name;
    EXPECT_EQ(to_toml(with_values(config, space, values_of(space, config))), to_toml(config));
    std::set<Assignment> seen;
    for (size_t trial = 0; trial < 20; ++trial) {
      Assignment drawn = draw_values(config, space, {}, 0, trial);
      EXPECT_NO_THROW(check(with_values(config, space, drawn))) << info.name;
      EXPECT_EQ(drawn, draw_values(config, space, {}, 0, trial));
      seen.insert(drawn);
    }
    EXPECT_GT(seen.size(), 10U) << info.name;
    Assignment start = values_of(space, config),
               changed = change_values(config, space, start, {start}, 0, 1);
    EXPECT_NE(changed, start);
    size_t differences = 0;
    for (size_t i = 0; i < start.size(); ++i) differences += start[i] != changed[i] ? 1 : 0;
    EXPECT_LE(differences, 3U);
  }
}

TEST(SearchSpace, ClassesAreWeighedWhereThereAreSome) {
  auto weighs = [](const SearchSpace& space) {
    return std::ranges::any_of(space, [](const Choice& c) { return c.key == "gcn.class_weights"; });
  };
  EXPECT_TRUE(weighs(search_space(Config("gcn"))));
  EXPECT_FALSE(weighs(search_space(Config("gcn"), false)));
}

// One in six draws has attention in more layers than there are, or neither residual nor
// convolution: another is drawn, and the default is not what is left.
TEST(SearchSpace, WhatCannotBeTrainedIsDrawnAgain) {
  Config config("spexphormer-local");
  SearchSpace space = search_space(config);
  for (size_t trial = 0; trial < 40; ++trial)
    EXPECT_NE(draw_values(config, space, {}, 0, trial), values_of(space, config)) << trial;
}

// What a default's networks take in turn says nothing of what can be drawn.
TEST(SearchSpace, DrawsAsIfTheDefaultHadNoVariants) {
  Config config("spexphormer-local"), varied = config;
  varied.members = 2;
  varied.variants = "conv=none attention_layers=0 layers=2";
  SearchSpace space = search_space(config);
  for (size_t trial = 0; trial < 40; ++trial)
    EXPECT_EQ(draw_values(config, space, {}, 0, trial), draw_values(varied, space, {}, 0, trial))
        << trial;
}

// Three heads do not divide 64: idle or not, they must fit the width that is drawn.
TEST(SearchSpace, IdleSettingsFitTheOthers) {
  Config config("spexphormer-local");
  for (const char* setting : {"attention_layers=0", "width=96", "heads=3"})
    apply_setting(config, fmt::format("spexphormer-local.{}", setting));
  SearchSpace space = search_space(config);
  for (size_t trial = 0; trial < 40; ++trial)
    EXPECT_NO_THROW(check(with_values(config, space, draw_values(config, space, {}, 0, trial))));
}

TEST(SearchSpace, NothingIsTriedTwice) {
  Config config("spexphormer-local");
  apply_setting(config, "spexphormer-local.attention_layers=0");
  SearchSpace space = search_space(config);
  Assignment start = values_of(space, config);
  Tried tried = {start};
  for (size_t trial = 1; trial <= 60; ++trial) {
    Assignment changed = change_values(config, space, start, tried, 0, trial);
    EXPECT_TRUE(tried.insert(changed).second) << trial;
    if (with_values(config, space, changed).final().model->idle().size() < 2) continue;
    for (size_t i = 0; i < space.size(); ++i) {  // the two that only attention has
      if (space[i].key.ends_with(".heads") || space[i].key.ends_with(".degree")) {
        EXPECT_EQ(changed[i], start[i]);
      }
    }
  }
}

}  // namespace
}  // namespace spex
