// Every setting does something: another value, another model.
#include <spex/core/files.h>
#include <spex/core/threads.h>
#include <spex/data/splits.h>
#include <spex/run/settings.h>

#include <algorithm>
#include <sstream>

#include "run/support.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

// One thread: a run is too small for more, and others run tests beside it.
std::string file_after(const std::string& settings, const std::string& file) {
  TemporaryFolder folder;
  Config config = quick_config();
  for (Phase& phase : config.phases) phase.recipe.warmup = 2;
  std::istringstream words(settings);
  for (std::string word; words >> word;) {
    if (word.starts_with("model="))
      set_model(config, word.substr(6));
    else
      apply_setting(config, word);
  }
  config.threads = 1;
  run(config, folder / "run", {}, {}, 12);
  return read_text(folder / "run" / file);
}

// The arrays behind the header, where the settings themselves stand.
std::string numbers(const std::string& safetensors) {
  uint64_t header = 0;
  std::memcpy(&header, safetensors.data(), sizeof header);
  return safetensors.substr(sizeof header + header);
}

TEST(Settings, OfTheFinalNetworkChangeIt) {
  std::string base = numbers(file_after("", "model.safetensors"));
  EXPECT_TRUE(numbers(file_after("", "model.safetensors")) == base);
  for (const char* setting :
       {"clip=0.01", "weight_decay=0.3", "decay=gradient", "dropout=0.4", "learning_rate=0.002",
        "warmup=0", "truncate=3", "resample_every=3", "sampling=uniform", "sampling=top",
        "log_scores=true", "norm=layer", "norm=none", "batch_size=50", "pre_layers=2",
        "post_layers=1", "degrees=[5,4]", "heads=4"}) {
    std::string text = std::string("spexphormer.") + setting;
    EXPECT_TRUE(numbers(file_after(text, "model.safetensors")) != base) << setting;
  }
  auto cut = numbers(file_after("spexphormer.truncate=3", "model.safetensors"));
  EXPECT_TRUE(cut != numbers(file_after("spexphormer.degrees=[3,3]", "model.safetensors")))
      << "what was cut is not drawn";
  for (const char* setting : {"seed=1", "expander.degree=8", "expander.seed=1",
                              "split.ratio=50/25/25", "split.ratio=50/25/25 split.seed=1"})
    EXPECT_TRUE(numbers(file_after(setting, "model.safetensors")) != base) << setting;
}

TEST(Settings, OfTheEstimatorChangeItsScores) {
  std::string base = numbers(file_after("estimator.lambda=1", "scores.safetensors"));
  for (const char* setting :
       {"temperature=false", "gamma=0.5", "lambda=0", "modulation=sum", "scale_by_width=false",
        "normalize_values=false", "norm=graph", "norm=layer", "clip=0.01", "weight_decay=0.3",
        "pre_layers=0", "width=8", "layers=1", "learning_rate=0.1"}) {
    std::string text = std::string("estimator.lambda=1 estimator.") + setting;
    EXPECT_TRUE(numbers(file_after(text, "scores.safetensors")) != base) << setting;
  }
}

TEST(Settings, TheLossOfAModelsOwnIsPartOfItsTraining) {
  std::string base = "model=nodeformer nodeformer.epochs=4 nodeformer.width=8 nodeformer.draws=2";
  EXPECT_TRUE(numbers(file_after(base, "model.safetensors")) !=
              numbers(file_after(base + " nodeformer.edge_loss=0", "model.safetensors")));
}

TEST(Settings, ThatAModelCallsIdleChangeNothing) {
  std::string base =
      "model=spexphormer-local spexphormer-local.epochs=4 spexphormer-local.width=8 "
      "spexphormer-local.layers=2 spexphormer-local.attention_layers=0";
  std::string expected = numbers(file_after(base, "model.safetensors"));
  Config config("spexphormer-local");
  apply_setting(config, "spexphormer-local.attention_layers=0");
  EXPECT_EQ(config.final().model->idle(), (std::vector<std::string>{"degree", "heads"}));
  apply_setting(config, "spexphormer-local.conv=gat");
  EXPECT_EQ(config.final().model->idle(), (std::vector<std::string>{"degree"}));
  for (const char* setting : {"heads=4", "degree=3"})
    EXPECT_TRUE(numbers(file_after(base + " spexphormer-local." + setting, "model.safetensors")) ==
                expected)
        << setting;
}

// As the Python package hands all settings over, in any order.
TEST(Settings, VariantsHaveTheLastWord) {
  RunSettings settings;
  settings.data = "minesweeper";
  settings.model = "gcn";
  settings.members = 2;
  for (const char* each : {"variants=layers=4", "gcn.layers=2", "gcn.width=16"})
    settings.assignments.push_back(each);
  Config config = resolve(settings, small_mines(12));
  EXPECT_EQ(config.variants, "layers=4");
  EXPECT_EQ(network_phases(config)[0].model->needs().layers, 2U);
  EXPECT_EQ(network_phases(config)[1].model->needs().layers, 4U);
}

TEST(Settings, AStoredSplitTakesThePlaceOfThePresetsRandomOne) {
  Dataset data = small_mines(12);
  for (uint64_t seed : {1U, 2U}) data.splits.push_back(random_split(data.labels, {}, seed));
  RunSettings settings;
  settings.preset = "photo";
  EXPECT_FALSE(resolve(settings, data).split.ratio.empty());
  settings.split = 1;
  EXPECT_TRUE(resolve(settings, data).split.ratio.empty());
  settings.split.reset();
  settings.preset = "actor";
  EXPECT_FALSE(resolve(settings, data).split.counts.empty());
  settings.assignments = {"split.index=1"};
  EXPECT_TRUE(resolve(settings, data).split.counts.empty());
  settings.assignments.clear();
  std::vector<Config> configs = resolve_each(settings, {"gcn"}, {0, 1}, data);
  ASSERT_EQ(configs.size(), 2U);
  for (size_t split : {0U, 1U})
    EXPECT_TRUE(std::ranges::equal(make_problem(data, configs[split]).split.train,
                                   data.splits[split].train));
  for (const char* random : {"split.ratio=50/25/25", "split.counts=2/10/10"}) {
    settings.assignments = {random};
    EXPECT_NO_THROW(make_problem(data, resolve(settings, data)));
    EXPECT_SAYS(resolve_each(settings, {"gcn"}, {0, 1}, data), "exclude each other");
  }
}

TEST(Settings, OfExphormerChangeIt) {
  std::string base = "model=exphormer exphormer.epochs=4 exphormer.width=8 exphormer.layers=2";
  std::string expected = numbers(file_after(base, "model.safetensors"));
  for (const char* setting : {"dropout=0.5", "virtual_nodes=1", "norm=graph", "weight_decay=0.3"})
    EXPECT_TRUE(numbers(file_after(base + " exphormer." + setting, "model.safetensors")) !=
                expected)
        << setting;
}

}  // namespace
}  // namespace spex
