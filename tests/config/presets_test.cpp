#include <spex/config/presets.h>

#include "run/support.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

TEST(Presets, AreThoseOfThePapersDataSetsAndItsFirstFigure) {
  std::vector<std::string_view> names;
  for (const Preset& preset : presets()) names.push_back(preset.name);
  EXPECT_EQ(names, (std::vector<std::string_view>{
                       "actor", "amazon-ratings", "amazon2m", "arxiv", "bridge", "computer", "cs",
                       "minesweeper", "photo", "physics", "pokec", "proteins", "questions",
                       "roman-empire", "tolokers", "wikics"}));
}

TEST(Presets, ParseAndSayWhatThePaperSays) {
  for (const Preset& preset : presets()) {
    SCOPED_TRACE(std::string(preset.name));
    Config config;
    apply_toml(config, preset.toml, std::string(preset.name));
    for (const char* key : {"degree", "width", "epochs", "learning_rate", "degrees", "heads"})
      EXPECT_NE(preset.toml.find(std::string("\n") + key + " = "), std::string_view::npos) << key;
    EXPECT_GE(final_options(config).degrees.size(), 2U);
    for (size_t degree : final_options(config).degrees) EXPECT_GT(degree, 0U);
    EXPECT_EQ(final_options(config).width % final_options(config).heads, 0U);
    EXPECT_EQ(config.expander.degree % 2, 0U);
    EXPECT_TRUE(estimator_options(config).width == 4 || estimator_options(config).width == 8)
        << estimator_options(config).width;
    EXPECT_LE(estimator_options(config).layers,
              final_options(config).degrees.size() + 1);  // actor: 4 and 3
    EXPECT_LT(final_options(config).dropout, 1.0);
    EXPECT_GT(config.final().recipe.epochs, config.final().recipe.warmup);
    EXPECT_GT(config.phase("estimator").recipe.epochs, config.phase("estimator").recipe.warmup);
  }
}

}  // namespace
}  // namespace spex
