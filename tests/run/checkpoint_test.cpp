#include <spex/core/files.h>
#include <spex/core/safetensors.h>
#include <spex/run/checkpoint.h>
#include <spex/run/model_file.h>

#include <cmath>
#include <limits>

#include "run/support.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

Checkpoint example_checkpoint() {
  TrainState state;
  state.next_epoch = 17;
  state.model = {{"a.weight", {1.5F, -0.1F}}, {"b", {}}};
  state.first_moment = {{"a.weight", {1e-30F, 2}}};
  state.second_moment = {{"a.weight", {3, 1e-38F}}};
  state.optimiser_steps = (uint64_t{1} << 40) + 1;
  state.best_epoch = 12;
  state.best_validation = 0.1 + 0.2;
  state.best_test = 1.0 / 3.0;
  state.best_temperature = 0.95F;
  state.best = {{"a.weight", {7, 8}}};
  return {"spexphormer", 3, state};
}

// A small trained Spexphormer.
SavedModel example_model() {
  Config config;
  final_options(config).width = 4;
  final_options(config).heads = 2;
  final_options(config).degrees = {3};
  Preparation preparation{2,  "degree",         {{5e6, 0.1}, {1.0 / 3.0, 2.0}},
                          {}, {{5000}, {0.01}}, {{1, 2, 3}, {0.5, 1, 2}}};
  Meaning meaning{Task::classes, {"a", "b \"c\"", "d\ne"}};
  SavedModel saved{
      config.final(), {2, 3, 4, 10, 3}, meaning, preparation, 5, 7, 1.0 / 3.0, 0.6F, {}};
  saved.state = save_state(*saved.phase.model->make(saved.shape, 1));
  return saved;
}

TEST(Checkpoint, ReadsBackToTheSameBits) {
  TemporaryFolder folder;
  Checkpoint written = example_checkpoint();
  save_checkpoint(folder / "c", written);
  Checkpoint read = load_checkpoint(folder / "c").value();
  EXPECT_EQ(read.phase, written.phase);
  EXPECT_EQ(read.seed, written.seed);
  EXPECT_EQ(read.state.next_epoch, written.state.next_epoch);
  EXPECT_EQ(read.state.model, written.state.model);
  EXPECT_EQ(read.state.first_moment, written.state.first_moment);
  EXPECT_EQ(read.state.second_moment, written.state.second_moment);
  EXPECT_EQ(read.state.optimiser_steps, written.state.optimiser_steps);
  EXPECT_EQ(read.state.best_epoch, written.state.best_epoch);
  EXPECT_EQ(read.state.best_validation, written.state.best_validation);
  EXPECT_EQ(read.state.best_test, written.state.best_test);
  EXPECT_EQ(read.state.best_temperature, written.state.best_temperature);
  EXPECT_EQ(read.state.best, written.state.best);
}

TEST(Checkpoint, TestMetricThatWaitsForTheEndIsNotANumber) {
  TemporaryFolder folder;
  Checkpoint written = example_checkpoint();
  written.state.best_test = std::numeric_limits<double>::quiet_NaN();
  save_checkpoint(folder / "c", written);
  EXPECT_TRUE(std::isnan(load_checkpoint(folder / "c").value().state.best_test));
}

TEST(Checkpoint, IsNoneWhereThereIsNoFile) {
  TemporaryFolder folder;
  EXPECT_FALSE(load_checkpoint(folder / "nothing").has_value());
}

TEST(Checkpoint, RefusesAnotherFileAndACutOne) {
  TemporaryFolder folder;
  save_model(folder / "model", example_model());
  EXPECT_SAYS(load_checkpoint(folder / "model"), "is not a checkpoint that spex wrote");
  save_checkpoint(folder / "c", example_checkpoint());
  EXPECT_SAYS(load_model(folder / "c"), "is not a model that spex wrote");
  std::string text = read_text(folder / "c");
  for (size_t length : {size_t{0}, size_t{5}, size_t{40}, text.size() - 1}) {
    write_text(folder / "cut", text.substr(0, length));
    EXPECT_THROW(load_checkpoint(folder / "cut"), Error) << length;
  }
}

TEST(ModelFile, ReadsBackEverythingThatMakesTheModel) {
  TemporaryFolder folder;
  SavedModel written = example_model();
  save_model(folder / "m", written);
  SavedModel read = load_model(folder / "m");
  EXPECT_EQ(read.phase.name, "spexphormer");
  EXPECT_EQ(to_toml(read.phase), to_toml(written.phase));
  EXPECT_EQ(read.shape.inputs, 2U);
  EXPECT_EQ(read.shape.outputs, 3U);
  EXPECT_EQ(read.shape.edge_types, 4U);
  EXPECT_EQ(read.shape.edge_features, 3U);
  EXPECT_EQ(read.meaning.class_names, written.meaning.class_names);
  EXPECT_EQ(read.preparation.given, 2U);
  EXPECT_EQ(read.preparation.structure, "degree");
  EXPECT_EQ(read.preparation.features.mean, written.preparation.features.mean);
  EXPECT_EQ(read.preparation.features.scale, written.preparation.features.scale);
  EXPECT_TRUE(read.preparation.made.scale.empty());
  EXPECT_EQ(read.preparation.targets.scale, written.preparation.targets.scale);
  EXPECT_EQ(read.preparation.edges.mean, written.preparation.edges.mean);
  EXPECT_EQ(read.preparation.edges.scale, written.preparation.edges.scale);
  EXPECT_EQ(read.seed, 5U);
  EXPECT_EQ(read.best_epoch, 7U);
  EXPECT_EQ(read.validation, 1.0 / 3.0);
  EXPECT_EQ(read.temperature, 0.6F);
  EXPECT_EQ(read.state, written.state);
  EXPECT_EQ(save_state(*read.make()), written.state);
}

TEST(ModelFile, WhoseMeansDoNotFitItsScalesIsRefused) {
  TemporaryFolder folder;
  SavedModel written = example_model();
  written.preparation.features.mean.push_back(0);
  save_model(folder / "m", written);
  EXPECT_SAYS(load_model(folder / "m"), "means do not fit");
}

TEST(ModelFile, OfAnEarlierVersionIsRefusedWithASentence) {
  TemporaryFolder folder;
  for (const char* format : {"spex-network-1", "spex-model-2"}) {
    write_safetensors(folder / "old", {}, {{"format", format}});
    EXPECT_SAYS(load_model(folder / "old"), "was written by an earlier version of spex");
  }
}

TEST(ModelState, OfAnotherModelIsRefusedByName) {
  SavedModel saved = example_model();
  std::unique_ptr<Model> model = saved.make();
  ModelState state = save_state(*model);
  state.at("layers.0.q.weight").pop_back();
  EXPECT_SAYS(load_state(*model, state), "15 numbers for layers.0.q.weight, not 16");
  state.erase("layers.0.q.weight");
  EXPECT_SAYS(load_state(*model, state), "lacks layers.0.q.weight");
}

}  // namespace
}  // namespace spex
