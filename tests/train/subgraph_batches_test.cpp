#include <gtest/gtest.h>
#include <spex/graph/builder.h>
#include <spex/train/batches.h>

#include <cmath>

#include "gradient_check.h"

namespace spex {
namespace {

using namespace testing_support;  // NOLINT

constexpr NodeId kNodes = 40;

Ground ring() {
  Ground ground;
  std::vector<NodeId> sources, targets;
  for (NodeId i = 0; i < kNodes; ++i) {
    sources.insert(sources.end(), {i, i});
    targets.insert(targets.end(), {(i + 1) % kNodes, (i + 7) % kNodes});
  }
  ground.data.graph = build_csr(kNodes, sources, targets).graph;
  ground.local = augment(ground.data.graph, {});
  Buffer<float> values(kNodes, MemoryTag::features);
  for (size_t i = 0; i < kNodes; ++i) values[i] = 1.0F + static_cast<float>(i % 3);
  ground.data.features = DenseFeatures{kNodes, 1, std::move(values)};
  return ground;
}

Needs subgraph_needs() {
  Needs needs;
  needs.local = true;
  needs.batching = Batching::subgraphs;
  needs.subgraphs.rounds = 2000;
  return needs;
}

// The mean loss of the training nodes where a node's loss is its number, and Ahat of the features.
TEST(SubgraphBatches, LossesAndNormalisedSumsAreUnbiased) {
  Ground ground = ring();
  std::vector<NodeId> train = {0, 3, 4, 5, 17, 30, 31, 39};
  auto batches = make_batches(ground, train, subgraph_needs(), {4, 7});
  double loss = 0, steps = 0;
  std::vector<double> sums(kNodes, 0.0), times(kNodes, 0.0);
  for (size_t epoch = 0; epoch < 2000; ++epoch) {
    steps += 4;  // 40 nodes, 12 to a subgraph; those without a training node are left out
    batches->train(epoch, [&](const Step& step) {
      for (NodeId row : step.rows)
        loss += step.weights[row] * step.node(row) / static_cast<double>(step.rows.size());
      Tape tape(false);
      Var y = step.neighbourhood->normalized_sum(tape, 0, tape.constant(step.input.dense));
      for (size_t i = 0; i < step.nodes.size(); ++i) {
        sums[step.nodes[i]] += y.value()(i, 0);
        times[step.nodes[i]] += 1;
      }
    });
  }
  EXPECT_NEAR(loss / steps, (0 + 3 + 4 + 5 + 17 + 30 + 31 + 39) / 8.0, 0.5);
  for (NodeId i = 0; i < kNodes; ++i) {
    double whole = 0;  // all rows have five entries
    for (NodeId j : {i, (i + 1) % kNodes, (i + 7) % kNodes, (i + 39) % kNodes, (i + 33) % kNodes})
      whole += (1.0 + static_cast<double>(j % 3)) / 5.0;
    EXPECT_NEAR(sums[i] / times[i], whole, 0.08 * whole) << "node " << i;
  }
}

TEST(SubgraphBatches, EvaluateTheWholeGraph) {
  Ground ground = ring();
  auto batches = make_batches(ground, {}, subgraph_needs(), {4, 7});
  EXPECT_TRUE(batches->evaluates_all());
  size_t steps = 0;
  batches->evaluate(0, {}, [&](const Step& step) {
    ++steps;
    EXPECT_EQ(step.neighbourhood->layer(0).local->queries(), kNodes);
    EXPECT_TRUE(step.neighbourhood->layer(0).edge_weights.empty());
  });
  EXPECT_EQ(steps, 1U);
}

}  // namespace
}  // namespace spex
