#include <spex/core/files.h>
#include <spex/train/checkpoint.h>
#include <spex/train/predict.h>

#include <cmath>
#include <limits>

#include "train/support.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

Checkpoint example_checkpoint() {
  TrainState state;
  state.next_epoch = 17;
  state.network = {{"a.weight", {1.5F, -0.1F}}, {"b", {}}};
  state.first_moment = {{"a.weight", {1e-30F, 2}}};
  state.second_moment = {{"a.weight", {3, 1e-38F}}};
  state.optimiser_steps = (uint64_t{1} << 40) + 1;
  state.best_epoch = 12;
  state.best_validation = 0.1 + 0.2;
  state.best_test = 1.0 / 3.0;
  state.best_temperature = 0.95F;
  state.best = {{"a.weight", {7, 8}}};
  return {"final", 3, state};
}

TEST(Checkpoint, ReadsBackToTheSameBits) {
  TemporaryFolder folder;
  Checkpoint written = example_checkpoint();
  save_checkpoint(folder / "c", written);
  Checkpoint read = load_checkpoint(folder / "c").value();
  EXPECT_EQ(read.phase, written.phase);
  EXPECT_EQ(read.seed, written.seed);
  EXPECT_EQ(read.state.next_epoch, written.state.next_epoch);
  EXPECT_EQ(read.state.network, written.state.network);
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
  save_network(folder / "network", {{"a", {1}}}, {});
  EXPECT_SAYS(load_checkpoint(folder / "network"), "is not a checkpoint that spex wrote");
  save_checkpoint(folder / "c", example_checkpoint());
  EXPECT_SAYS(load_network(folder / "c"), "is not a network that spex wrote");
  std::string text = read_text(folder / "c");
  for (size_t length : {size_t{0}, size_t{5}, size_t{40}, text.size() - 1}) {
    write_text(folder / "cut", text.substr(0, length));
    EXPECT_THROW(load_checkpoint(folder / "cut"), Error) << length;
  }
}

TEST(NetworkFile, ReadsBackStateAndMetadata) {
  TemporaryFolder folder;
  NetworkState state = {{"encoder.weight", {1, 2, 3}}, {"norm.running_mean", {0.5F}}};
  save_network(folder / "n", state, {{"seed", "4"}, {"class_names", "a\nb \"c\""}});
  SavedNetwork read = load_network(folder / "n");
  EXPECT_EQ(read.state, state);
  EXPECT_EQ(read.metadata.at("seed"), "4");
  EXPECT_EQ(read.metadata.at("class_names"), "a\nb \"c\"");
}

TEST(NetworkState, OfAnotherNetworkIsRefusedByName) {
  NetworkOptions options;
  options.inputs = options.outputs = 2;
  options.width = options.heads = 4;
  options.layers = 1;
  Network network(options, 0);
  NetworkState state = save_state(network);
  state.at("layers.0.q.weight").pop_back();
  EXPECT_SAYS(load_state(network, state), "15 numbers for layers.0.q.weight, not 16");
  state.erase("layers.0.q.weight");
  EXPECT_SAYS(load_state(network, state), "lacks layers.0.q.weight");
}

TEST(AttentionGraphFile, ReadsBackTheSameGraph) {
  TemporaryFolder folder;
  Problem problem = make_problem(small_mines(8), quick_config());
  save_attention_graph(folder / "g", problem.graph, problem.fingerprint);
  SavedGraph read = load_attention_graph(folder / "g");
  EXPECT_EQ(read.fingerprint, problem.fingerprint);
  EXPECT_EQ(fingerprint(read.graph), problem.fingerprint);
  EXPECT_EQ(read.graph.symmetric, problem.graph.symmetric);
  std::string text = read_text(folder / "g");
  write_text(folder / "cut", text.substr(0, text.size() - 4));
  EXPECT_THROW(load_attention_graph(folder / "cut"), Error);
}

}  // namespace
}  // namespace spex
