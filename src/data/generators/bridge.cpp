// The task of the paper's Figure 1. A component is two clusters of c nodes each, every cluster
// complete and of one colour, joined by a single bridge. In half of the components the clusters
// differ in colour: their nodes are labelled "both", the others "one". The only features are the
// colour (one-hot), and components of both kinds are otherwise alike, degrees included.
//
// So a node can learn its label in one way only: its cluster's bridge end must look across the
// bridge (one of its c edges), and then the node must look at that bridge end (one of its c - 1
// edges). Attention over all edges does both in two layers: "attend to the other colour", then
// "attend to who found it". A sample of k neighbours a layer, drawn without knowledge of the task,
// keeps both edges with probability (k / c)^2: 1% for k = 5 and c = 50. A sample drawn by the
// attention scores keeps them almost surely, even with k = 1.
//
// Components are split as wholes, 50/25/25 within each kind, so that no test node shares its
// component with a training node.

#include <spex/core/error.h>
#include <spex/data/generators.h>
#include <spex/graph/builder.h>

#include <algorithm>

#include "data/generators/generator_parts.h"

namespace spex {
namespace {

struct Plan {
  size_t components;
  size_t cluster;
  std::vector<NodeId> order;  // ids are shuffled: neighbours must not be found by their number

  size_t component_size() const { return 2 * cluster; }
  size_t nodes() const { return components * component_size(); }
  NodeId id(size_t component, size_t side, size_t i) const {
    return order[component * component_size() + side * cluster + i];
  }
};

CsrGraph clusters_and_bridges(const Plan& plan, const Random& random) {
  std::vector<NodeId> sources, targets;
  auto join = [&](NodeId a, NodeId b) {
    sources.push_back(a);
    targets.push_back(b);
  };
  for (size_t component = 0; component < plan.components; ++component) {
    for (size_t side : {0, 1})
      for (size_t i = 0; i < plan.cluster; ++i)
        for (size_t j = i + 1; j < plan.cluster; ++j)
          join(plan.id(component, side, i), plan.id(component, side, j));
    join(plan.id(component, 0, random.below(plan.cluster, 2 * component)),
         plan.id(component, 1, random.below(plan.cluster, 2 * component + 1)));
  }
  return build_csr(plan.nodes(), sources, targets).graph;
}

// Components come in fours: red-red, blue-blue, red-blue, blue-red.
bool is_blue(size_t component, size_t side) {
  size_t kind = component % 4;
  return side == 0 ? kind % 2 == 1 : kind == 1 || kind == 2;
}
bool has_both(size_t component) {
  return component % 4 >= 2;
}

template <class Value>
void for_nodes(const Plan& plan, Value value) {
  for (size_t component = 0; component < plan.components; ++component)
    for (size_t side : {0, 1})
      for (size_t i = 0; i < plan.cluster; ++i) value(plan.id(component, side, i), component, side);
}

// Splits the components, then lists the nodes of each part.
Split split_by_component(const Plan& plan, const Random& random) {
  std::vector<int32_t> kinds(plan.components);
  for (size_t component = 0; component < plan.components; ++component)
    kinds[component] = static_cast<int32_t>(component % 4);
  Split components = stratified_split(kinds, 4, {}, random);
  auto nodes_of = [&](const SharedArray<NodeId>& part) {
    Buffer<NodeId> nodes(part.size() * plan.component_size(), MemoryTag::other);
    NodeId* next = nodes.begin();
    for (NodeId component : part)
      next =
          std::copy_n(&plan.order[component * plan.component_size()], plan.component_size(), next);
    std::sort(nodes.begin(), nodes.end());
    return SharedArray<NodeId>(std::move(nodes));
  };
  return {nodes_of(components.train), nodes_of(components.validation), nodes_of(components.test)};
}

Plan make_plan(const BridgeOptions& options) {
  require(options.cluster >= 2, "bridge: a cluster needs at least two nodes, not {}",
          options.cluster);
  size_t components = options.nodes / (2 * options.cluster);
  require(components >= 16,
          "bridge: {} nodes make only {} components of two clusters of {}; 16 are needed, so ask "
          "for at least {} nodes or smaller clusters",
          options.nodes, components, options.cluster, 32 * options.cluster);
  Plan plan{components, options.cluster, {}};
  plan.order = random_permutation(plan.nodes(), part_random(options.seed, Part::order));
  return plan;
}

}  // namespace

Dataset generate_bridge(const BridgeOptions& options) {
  Plan plan = make_plan(options);
  Dataset data;
  data.name = "bridge";
  data.source =
      fmt::format("generator bridge, clusters of {}, seed {}", options.cluster, options.seed);
  data.synthetic = true;
  data.graph = clusters_and_bridges(plan, part_random(options.seed, Part::edges));
  Buffer<float> colours(plan.nodes() * 2, MemoryTag::features);
  Buffer<int32_t> classes(plan.nodes(), MemoryTag::other);
  for_nodes(plan, [&](NodeId node, size_t component, size_t side) {
    bool blue = is_blue(component, side);
    colours[2 * node] = blue ? 0.0F : 1.0F;
    colours[2 * node + 1] = blue ? 1.0F : 0.0F;
    classes[node] = has_both(component);
  });
  data.features = DenseFeatures{plan.nodes(), 2, std::move(colours)};
  data.labels = {Task::classes, 2, std::move(classes), {}};
  data.class_names = {"one colour", "both colours"};
  data.splits = {split_by_component(plan, part_random(options.seed, Part::split))};
  return data;
}

}  // namespace spex
