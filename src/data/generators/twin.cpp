// Twins of the paper's large data sets: the node and edge counts of its table, about the degree
// skew, homophily and split of the public data, but none of its contents.
//
// Features lie around a class's centre with noise chosen so that a node alone tells its class in
// well under half of the cases (two classes: about two thirds), while the mean over its neighbours
// tells much more: a network that uses the edges clearly beats one that does not. Some nodes are
// mislabelled, so that none reaches 100%. The proteins twin has hidden classes instead; each gives
// its 112 labels probabilities of their own.

#include <spex/core/error.h>
#include <spex/core/threads.h>
#include <spex/data/generators.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "data/generators/block_model.h"
#include "data/generators/generator_parts.h"

namespace spex {
namespace {

struct TwinPlan {
  std::string_view name;
  size_t nodes;
  uint64_t directed_edges;
  size_t features;
  size_t classes;    // hidden ones if there are binary labels
  size_t labels;     // binary labels; 0: the classes are the task
  double imbalance;  // of the class sizes
  double homophily;
  double skew;
  double separation;   // of the class centres, in units of the noise
  double mislabelled;  // share of the nodes whose label is drawn anew: what no network can know
  Shares shares;
};

constexpr std::array<TwinPlan, 4> kPlans = {{
    {"arxiv", 169'343, 2'332'486, 128, 40, 0, 0.9, 0.8, 0.75, 2.5, 0.15, {0.54, 0.18}},
    {"proteins", 132'534, 79'122'504, 8, 32, 112, 0.3, 0.5, 0.4, 1.5, 0.0, {0.65, 0.16}},
    {"pokec", 1'632'803, 30'622'564, 65, 2, 0, 0.0, 0.4, 0.5, 1.0, 0.1, {0.50, 0.25}},
    {"amazon2m", 2'449'029, 123'718'280, 100, 47, 0, 0.7, 0.85, 0.55, 1.5, 0.08, {0.10, 0.10}},
}};

const TwinPlan& find_plan(const std::string& name) {
  auto plan = std::ranges::find(kPlans, name, &TwinPlan::name);
  require(plan != kPlans.end(),
          "there is no twin called {}; there are arxiv, proteins, pokec and "
          "amazon2m",
          name);
  return *plan;
}

// Label l of a node of hidden class c is 1 with probability 1 / (1 + exp(2 - 2 z)), z normal per
// (c, l): most labels are rare, and each is common in some classes.
Labels draw_binary_labels(std::span<const int32_t> classes, const TwinPlan& plan, uint64_t seed) {
  std::vector<float> chances(plan.classes * plan.labels);
  fill_normal(chances, part_random(seed, Part::labels), 0);
  for (float& chance : chances) chance = 1.0F / (1.0F + std::exp(2.0F - 2.0F * chance));
  Buffer<float> values(classes.size() * plan.labels, MemoryTag::other);
  Random random = part_random(seed, Part::labels, 1);
  parallel_for(classes.size(), 1024, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i)
      for (size_t l = 0; l < plan.labels; ++l) {
        float chance = chances[static_cast<size_t>(classes[i]) * plan.labels + l];
        size_t place = i * plan.labels + l;
        values[place] = random.uniform(place) < chance ? 1.0F : 0.0F;
      }
  });
  return {Task::binary_labels, plan.labels, {}, std::move(values)};
}

// Node i keeps its class or, if mislabelled, gets the class of some other node.
Labels draw_class_labels(std::span<const int32_t> classes, const TwinPlan& plan, uint64_t seed) {
  Buffer<int32_t> labels(classes.size(), MemoryTag::other);
  Random random = part_random(seed, Part::labels);
  for (size_t i = 0; i < classes.size(); ++i) {
    bool wrong = random.uniform(2 * i) < plan.mislabelled;
    labels[i] = classes[wrong ? random.below(classes.size(), 2 * i + 1) : i];
  }
  return {Task::classes, plan.classes, std::move(labels), {}};
}

BlockModel block_model(const TwinPlan& plan, const TwinOptions& options) {
  auto scaled = [&](uint64_t count) {
    return static_cast<uint64_t>(std::llround(options.scale * static_cast<double>(count)));
  };
  BlockModel model;
  model.class_sizes = class_sizes(scaled(plan.nodes), plan.classes, plan.imbalance);
  model.pairs = scaled(plan.directed_edges / 2);
  model.homophily = plan.homophily;
  model.skew = plan.skew;
  model.seed = options.seed;
  return model;
}

}  // namespace

Dataset generate_twin(const TwinOptions& options) {
  const TwinPlan& plan = find_plan(options.name);
  require(options.scale > 0, "{}: the scale must be positive, not {}", options.name, options.scale);
  BlockGraph blocks = sample_block_model(block_model(plan, options));
  Dataset data;
  data.name = options.name + "-twin";
  data.source =
      fmt::format("generator {}, scale {}, seed {}", options.name, options.scale, options.seed);
  data.synthetic = true;
  data.graph = std::move(blocks.graph);
  data.features = features_around_centres(blocks.classes.span(), plan.classes, plan.features,
                                          plan.separation, options.seed);
  data.splits = {stratified_split(blocks.classes.span(), plan.classes, plan.shares,
                                  part_random(options.seed, Part::split))};
  data.labels = plan.labels > 0 ? draw_binary_labels(blocks.classes.span(), plan, options.seed)
                                : draw_class_labels(blocks.classes.span(), plan, options.seed);
  return data;
}

}  // namespace spex
