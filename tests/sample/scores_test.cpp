#include <gtest/gtest.h>
#include <spex/core/error.h>
#include <spex/core/safetensors.h>
#include <spex/sample/sampler.h>
#include <unistd.h>

#include "sample/support.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT
namespace fs = std::filesystem;

class ScoresFile : public testing::Test {
 protected:
  void SetUp() override {
    path_ = fs::temp_directory_path() / fmt::format("spex_scores_{}.safetensors", getpid());
  }
  void TearDown() override { fs::remove(path_); }

  template <class T>
  void write(Dtype dtype, size_t edges, const std::string& tensor_name = "layer.0") {
    std::vector<T> values(edges, T{1});
    std::vector<TensorSource> tensors = {
        tensor<T>(tensor_name, std::span<const T>(values), {edges}, dtype)};
    write_safetensors(path_, tensors,
                      {{"format", "spex-scores-1"}, {"fingerprint", "0000000000000005"}});
  }
  void expect_refusal(const std::string& part) {
    try {
      load_scores(path_, graph_, 5);
      FAIL() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  }

  AttentionGraph graph_ = random_graph(random_degrees(50, 20));
  fs::path path_;
};

std::vector<uint16_t> bits(const SharedArray<Half>& layer) {
  std::vector<uint16_t> all;
  for (Half half : layer) all.push_back(half.bits);
  return all;
}

TEST_F(ScoresFile, ComesBackAsItWas) {
  Scores scores = random_scores(graph_, 12);
  scores.metadata["data"] = "minesweeper";
  save_scores(path_, scores, fingerprint(graph_));
  Scores loaded = load_scores(path_, graph_, fingerprint(graph_));
  ASSERT_EQ(loaded.layers.size(), 12);
  for (size_t l = 0; l < 12; ++l) EXPECT_EQ(bits(loaded.layers[l]), bits(scores.layers[l])) << l;
  EXPECT_EQ(loaded.metadata["data"], "minesweeper");
}

TEST_F(ScoresFile, OfAnotherGraphIsRefused) {
  save_scores(path_, random_scores(graph_, 2), fingerprint(graph_) + 1);
  try {
    load_scores(path_, graph_, fingerprint(graph_));
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("another graph"), std::string::npos) << error.what();
  }
}

TEST_F(ScoresFile, WithTheWrongNumberOfEdgesIsRefused) {
  write<uint16_t>(Dtype::f16, graph_.edges() + 1);
  expect_refusal("layer.0");
}

TEST_F(ScoresFile, WithOther16BitValuesIsRefused) {
  write<uint16_t>(Dtype::bf16, graph_.edges());
  expect_refusal("BF16");
  write<uint16_t>(Dtype::u16, graph_.edges());
  expect_refusal("U16");
}

TEST_F(ScoresFile, WithWiderValuesIsRefused) {
  write<float>(Dtype::f32, graph_.edges());
  expect_refusal("F32");
}

TEST_F(ScoresFile, WithoutLayersIsRefused) {
  write<uint16_t>(Dtype::f16, graph_.edges(), "weights");
  expect_refusal("no layer");
}

TEST_F(ScoresFile, OfAnotherKindIsRefused) {
  write_safetensors(path_, {}, {{"format", "spex-model-1"}});
  expect_refusal("not a file of attention scores");
  fs::remove(path_);
  EXPECT_THROW(load_scores(path_, graph_, 5), Error);
}

// By definition: sort a row, keep the first.
TEST(TruncateScores, KeepsTheLargestOfEachRowAndOfEqualOnesTheFirst) {
  AttentionGraph graph = random_graph(random_degrees(200, 40));
  std::vector<float> values(graph.edges());
  for (size_t e = 0; e < values.size(); ++e)
    values[e] = static_cast<float>(Random(2, Purpose::test).below(9, e)) / 8;
  Scores scores;
  scores.layers.push_back(halves(values));
  for (size_t keep : {1, 5, 100}) {
    auto cut = floats(truncate(scores, graph, keep).layers[0]);
    for (size_t i = 0; i < graph.nodes(); ++i) {
      std::vector<size_t> order;
      for (size_t e = graph.offsets[i]; e < graph.offsets[i + 1]; ++e) order.push_back(e);
      std::stable_sort(order.begin(), order.end(),
                       [&](size_t a, size_t b) { return values[a] > values[b]; });
      // What a row keeps stays above zero; a row that keeps all is left alone.
      float least = order.size() > keep ? 0x1p-24F : 0.0F;
      size_t kept = std::min(keep, order.size());
      for (size_t r = 0; r < order.size(); ++r)
        ASSERT_EQ(cut[order[r]], r < kept ? std::max(values[order[r]], least) : 0.0F) << i;
    }
  }
  EXPECT_EQ(floats(scores.layers[0]), values) << "the scores themselves must not change";
}

TEST(TruncateScores, LeavesOnlyTheKeptToBeDrawn) {
  AttentionGraph graph = random_graph(std::vector<size_t>(200, 40));
  Scores scores = random_scores(graph, 1);
  Scores cut = truncate(scores, graph, 5);
  Sampler top(graph, &scores, Sampling::top, 1), weighted(graph, &cut, Sampling::weighted, 1);
  for (NodeId i = 0; i < graph.nodes(); ++i)
    EXPECT_EQ(draw(weighted, i, 0, 5, 3), draw(top, i, 0, 5, 3));
}

TEST(TruncateScores, NeverLetsWhatWasCutBeDrawnThoughAllScoresAreZero) {
  AttentionGraph graph = random_graph({40, 40});
  Scores zeros;
  zeros.layers.push_back(halves(std::vector<float>(graph.edges(), 0.0F)));
  Scores cut = truncate(zeros, graph, 5);
  Sampler sampler(graph, &cut, Sampling::weighted, 3);
  for (uint32_t epoch = 0; epoch < 50; ++epoch)
    for (EdgeOffset edge : draw(sampler, 0, 0, 5, epoch)) EXPECT_LT(edge, 5U);
}

// Scores below 3e-8 are zero in 16 bits: drawn after all others, and each as likely as the next.
TEST(ZeroScores, AreDrawnLastAndEvenly) {
  AttentionGraph graph = random_graph({9});
  Scores scores;
  scores.layers.push_back(halves({0.5F, 0, 0, 0, 6e-8F, 0, 0, 0, 0, 0.5F}));
  Sampler sampler(graph, &scores, Sampling::weighted, 3);
  std::vector<int> drawn(10);
  for (uint32_t epoch = 0; epoch < 7000; ++epoch)
    for (EdgeOffset edge : draw(sampler, 0, 0, 4, epoch)) ++drawn[edge];
  for (size_t edge : {0, 4, 9}) EXPECT_EQ(drawn[edge], 7000) << edge;
  for (size_t edge : {1, 2, 3, 5, 6, 7, 8}) EXPECT_NEAR(drawn[edge], 1000, 120) << edge;
}

TEST(TruncateScores, RefusesToKeepNothingAndScoresOfAnotherGraph) {
  AttentionGraph graph = random_graph({3, 4});
  EXPECT_THROW(truncate(random_scores(graph, 1), graph, 0), Error);
  EXPECT_THROW(truncate(random_scores(random_graph({3, 5}), 1), graph, 2), Error);
}

}  // namespace
}  // namespace spex
