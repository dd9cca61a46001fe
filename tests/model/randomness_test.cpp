// What must differ between seeds, layers and steps.
#include <gtest/gtest.h>
#include <spex/model/layers.h>
#include <spex/model/registry.h>
#include <spex/model/spexphormer.h>

#include <cmath>
#include <map>
#include <set>

#include "gradient_check.h"

namespace spex {
namespace {

TEST(Randomness, DropoutDiffersBySeedStepAndSite) {
  std::set<uint32_t> words;
  size_t count = 0;
  for (uint64_t seed : {0, 1})
    for (uint32_t step : {0, 1, 2})
      for (size_t site : {0, 1, 2, 3}) {
        Pass pass;
        pass.seed = seed;
        pass.step = step;
        words.insert(dropout_random(pass, site).bits(0)[0]);
        ++count;
      }
  EXPECT_EQ(words.size(), count);
}

TEST(Randomness, SeedsOfEveryModelStartFromOtherWeights) {
  Shape shape{5, 3, 3, 20};
  for (const ModelInfo& info : models()) {
    auto zero = info.options()->make(shape, 0), one = info.options()->make(shape, 1);
    auto again = info.options()->make(shape, 0);
    bool differs = false;
    for (auto a = zero->parameters().begin(), b = one->parameters().begin(),
              c = again->parameters().begin();
         a != zero->parameters().end(); ++a, ++b, ++c) {
      differs |=
          !std::equal(a->value.span().begin(), a->value.span().end(), b->value.span().begin());
      EXPECT_TRUE(
          std::equal(a->value.span().begin(), a->value.span().end(), c->value.span().begin()))
          << info.name << " " << a->name;
    }
    EXPECT_TRUE(differs) << info.name;
  }
}

// Two layers that add nothing but their dropped-out bias of 1 to zeros: a number is 0, 2 or 4, and 2
// only where one layer dropped what the other kept.
TEST(Randomness, LayersDropOtherNumbersAndNoneInEvaluation) {
  ExphormerOptions options;
  options.layers = 2;
  options.width = options.heads = 1;
  options.pre_layers = 0;
  options.norm = Norm::none;
  options.dropout = 0.5;
  constexpr size_t kNodes = 500;
  auto model = options.make({1, 1, 3, kNodes}, 0);
  for (Parameter& each : model->parameters())
    fill(each.value, each.name.ends_with("down.bias") || each.name == "head.weight" ? 1.0F : 0.0F);
  CsrGraph none{Buffer<EdgeOffset>(kNodes + 1, MemoryTag::graph), {}, true};
  std::vector<EdgeOffset> offsets(kNodes + 1, 0);
  Buffer<EdgeOffset> zeros(kNodes + 1, MemoryTag::graph);
  std::copy(offsets.begin(), offsets.end(), zeros.begin());
  none.offsets = std::move(zeros);
  AttentionGraph graph = augment(none, {}), transposed = transpose(graph);
  Matrix features = Matrix::zeros(kNodes, 1, MemoryTag::features);
  std::map<float, size_t> seen;
  for (bool training : {true, false}) {
    Pass pass;
    pass.training = training;
    Tape tape(false);
    Var logits = model->forward(tape, {features.view(), nullptr},
                                whole_neighbourhood({&graph, &transposed, nullptr}), pass);
    seen.clear();
    for (size_t i = 0; i < kNodes; ++i) ++seen[logits.value()(i, 0)];
    if (training) {
      EXPECT_NEAR(static_cast<double>(seen[2.0F]), kNodes / 2.0, 70);
      EXPECT_NEAR(static_cast<double>(seen[4.0F]), kNodes / 4.0, 60);
    } else {
      EXPECT_EQ(seen[2.0F], kNodes) << "both biases, undropped";
    }
  }
}

// Queries and keys that are far too large: only the clamp keeps neighbours apart, at e^(2 x 5).
TEST(Exphormer, ClampsItsScoresAtFive) {
  ExphormerOptions options;
  options.layers = options.width = options.heads = 1;
  options.pre_layers = 0;
  options.norm = Norm::none;
  auto model = options.make({1, 1, 3, 2}, 0);
  for (Parameter& each : model->parameters()) {
    bool one = each.name.ends_with("encoder.weight") || each.name.ends_with(".v.weight") ||
               each.name == "head.weight" || each.name == "edge_types" ||
               each.name.ends_with("modulation.weight");
    bool large = each.name.ends_with("q.weight") || each.name.ends_with("k.weight");
    fill(each.value, one ? 1.0F : large ? 100.0F : 0.0F);
  }
  Buffer<EdgeOffset> offsets(3, MemoryTag::graph);
  offsets[0] = 0, offsets[1] = 1, offsets[2] = 2;
  Buffer<NodeId> neighbours(2, MemoryTag::graph);
  neighbours[0] = 1, neighbours[1] = 0;
  AttentionGraph graph = augment(CsrGraph{std::move(offsets), std::move(neighbours), true}, {});
  AttentionGraph transposed = transpose(graph);
  Matrix features(2, 1, MemoryTag::features);
  features(0, 0) = 1, features(1, 0) = -1;
  Tape tape(false);
  Var logits = model->forward(tape, {features.view(), nullptr},
                              whole_neighbourhood({&graph, &transposed, nullptr}), {});
  // Node 0 sees itself, score +c, and node 1, score -c: x + (e^c - e^-c) / (e^c + e^-c).
  double c = 5.0, expected = 1.0 + std::tanh(c);
  EXPECT_NEAR(logits.value()(0, 0), expected, 1e-5);
}

TEST(Needs, OfATruncatedSampleAreNoMoreThanWhatIsLeft) {
  SpexphormerOptions options;
  options.degrees = {10, 4};
  options.truncate = 6;
  EXPECT_EQ(options.needs().sampling.degrees, (std::vector<size_t>{6, 4}));
  options.truncate = 0;
  EXPECT_EQ(options.needs().sampling.degrees, (std::vector<size_t>{10, 4}));
}

// Three layers whose maps are alike would learn alike.
TEST(Randomness, LayersStartFromOtherWeights) {
  ExphormerOptions options;
  options.layers = 3;
  auto model = options.make({5, 3, 3, 20}, 0);
  std::set<float> firsts;
  for (const Parameter& each : model->parameters())
    if (each.name.ends_with(".q.weight")) firsts.insert(each.value.span()[0]);
  EXPECT_EQ(firsts.size(), 3U);
}

}  // namespace
}  // namespace spex
