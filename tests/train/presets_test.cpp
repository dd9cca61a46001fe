#include <spex/train/presets.h>

#include "train/support.h"

namespace spex {
namespace {

TEST(Presets, AreThoseOfThePapersFifteenDataSets) {
  std::vector<std::string_view> names;
  for (const Preset& preset : presets()) names.push_back(preset.name);
  EXPECT_EQ(names, (std::vector<std::string_view>{"actor", "amazon-ratings", "amazon2m", "arxiv",
                                                  "computer", "cs", "minesweeper", "photo",
                                                  "physics", "pokec", "proteins", "questions",
                                                  "roman-empire", "tolokers", "wikics"}));
}

TEST(Presets, ParseAndSayWhatThePaperSays) {
  for (const Preset& preset : presets()) {
    SCOPED_TRACE(std::string(preset.name));
    Config config;
    apply_toml(config, preset.toml, std::string(preset.name));
    for (const char* key : {"degree", "width", "epochs", "learning_rate", "degrees", "heads"})
      EXPECT_NE(preset.toml.find(std::string("\n") + key + " = "), std::string_view::npos) << key;
    EXPECT_GE(config.final.degrees.size(), 2U);
    for (size_t degree : config.final.degrees) EXPECT_GT(degree, 0U);
    EXPECT_EQ(config.final.width % config.final.heads, 0U);
    EXPECT_EQ(config.expander.degree % 2, 0U);
    EXPECT_TRUE(config.estimator.width == 4 || config.estimator.width == 8)
        << config.estimator.width;
    EXPECT_LE(config.estimator.layers, config.final.degrees.size() + 1);  // actor: 4 and 3
    EXPECT_LT(config.final.dropout, 1.0);
    EXPECT_GT(config.final.optimiser.epochs, config.final.optimiser.warmup);
    EXPECT_GT(config.estimator.optimiser.epochs, config.estimator.optimiser.warmup);
  }
}

}  // namespace
}  // namespace spex
