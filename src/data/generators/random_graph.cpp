// Graphs with random features and random labels, for scaling studies.
//
// er: a given number of edges, uniformly. regular: random Hamiltonian cycles (and, for odd degrees,
// a perfect matching), whose few parallel edges are switched away: an edge {a, b} that stands twice
// and another edge {x, y} become {a, x} and {b, y}, which keeps all degrees.

#include <spex/core/error.h>
#include <spex/core/threads.h>
#include <spex/data/generators.h>
#include <spex/graph/builder.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "data/generators/block_model.h"
#include "data/generators/generator_parts.h"

namespace spex {
namespace {

struct Pairs {
  std::vector<NodeId> sources, targets;
  size_t size() const { return sources.size(); }
};

Pairs cycles_and_matching(size_t nodes, size_t degree, uint64_t seed) {
  Pairs pairs;
  pairs.sources.reserve(nodes * degree / 2);
  pairs.targets.reserve(nodes * degree / 2);
  for (size_t c = 0; c < (degree + 1) / 2; ++c) {
    bool matching = 2 * c + 1 == degree;  // every other edge of a cycle
    auto order =
        random_permutation(nodes, part_random(seed, Part::edges, static_cast<uint32_t>(c)));
    for (size_t i = 0; i < nodes; i += matching ? 2 : 1) {
      pairs.sources.push_back(order[i]);
      pairs.targets.push_back(order[(i + 1) % nodes]);
    }
  }
  return pairs;
}

// Which pairs stand in the list, after some were switched.
class Register {
 public:
  Register(size_t nodes, const Pairs& pairs)
      : graph_(build_csr(nodes, pairs.sources, pairs.targets, {.drop_duplicates = false}).graph) {}
  size_t count(NodeId a, NodeId b) const {
    auto row = graph_.row(a);
    auto [first, last] = std::equal_range(row.begin(), row.end(), b);
    auto pair = std::minmax(a, b);
    return static_cast<size_t>(last - first) + added_.count(pair) - removed_.count(pair);
  }
  void add(NodeId a, NodeId b) { added_.insert(std::minmax(a, b)); }
  void remove(NodeId a, NodeId b) { removed_.insert(std::minmax(a, b)); }

 private:
  CsrGraph graph_;
  std::multiset<std::pair<NodeId, NodeId>> added_, removed_;
};

bool switch_away(Pairs& pairs, size_t e, size_t other, Register& standing) {
  NodeId a = pairs.sources[e], b = pairs.targets[e];
  NodeId x = pairs.sources[other], y = pairs.targets[other];
  if (a == x || b == y || a == y || b == x) return false;
  if (standing.count(a, x) > 0 || standing.count(b, y) > 0) return false;
  standing.remove(a, b);
  standing.remove(x, y);
  standing.add(a, x);
  standing.add(b, y);
  pairs.targets[e] = x;
  pairs.sources[other] = b;
  return true;
}

void make_simple(Pairs& pairs, size_t nodes, uint64_t seed) {
  constexpr uint64_t kPatience = 10'000;
  Register standing(nodes, pairs);
  Random random = part_random(seed, Part::repair);
  uint64_t draws = 0;
  for (size_t e = 0; e < pairs.size(); ++e) {
    if (standing.count(pairs.sources[e], pairs.targets[e]) < 2) continue;
    uint64_t last = draws + kPatience;
    while (!switch_away(pairs, e, random.below(pairs.size(), draws++), standing))
      require(draws < last, "regular: {} nodes are too few for this degree; ask for more", nodes);
  }
}

Dataset with_random_contents(std::string name, CsrGraph graph, const RandomGraphOptions& options) {
  require(options.classes > 0 && options.features > 0,
          "{}: at least one class and one feature are needed", name);
  Dataset data;
  data.source = fmt::format("generator {}, degree {}, seed {}", name, options.degree, options.seed);
  data.name = std::move(name);
  data.synthetic = true;
  data.graph = std::move(graph);
  data.features = normal_features(options.nodes, options.features, options.seed);
  Buffer<int32_t> classes(options.nodes, MemoryTag::other);
  Random random = part_random(options.seed, Part::labels);
  for (size_t i = 0; i < options.nodes; ++i)
    classes[i] = static_cast<int32_t>(random.below(options.classes, i));
  data.splits = {stratified_split(classes.span(), options.classes, {},
                                  part_random(options.seed, Part::split))};
  data.labels = {Task::classes, options.classes, std::move(classes), {}};
  return data;
}

}  // namespace

Dataset generate_er(const RandomGraphOptions& options) {
  require(options.degree >= 0, "er: the average degree cannot be {}", options.degree);
  BlockModel model;
  model.class_sizes = {options.nodes};
  model.pairs = static_cast<uint64_t>(
      std::llround(options.degree * static_cast<double>(options.nodes) / 2.0));
  model.seed = options.seed;
  return with_random_contents("er", sample_block_model(model).graph, options);
}

Dataset generate_regular(const RandomGraphOptions& options) {
  auto degree = static_cast<size_t>(std::max(0.0, options.degree));
  require(static_cast<double>(degree) == options.degree,
          "regular: the degree must be a whole number, not {}", options.degree);
  require(degree % 2 == 0 || options.nodes % 2 == 0,
          "regular: {} nodes of degree {} cannot be: one of the two numbers must be even",
          options.nodes, degree);
  require(options.nodes > 4 * degree, "regular: degree {} needs more than {} nodes, not {}", degree,
          4 * degree, options.nodes);
  Pairs pairs = cycles_and_matching(options.nodes, degree, options.seed);
  make_simple(pairs, options.nodes, options.seed);
  CsrGraph graph = build_csr(options.nodes, pairs.sources, pairs.targets).graph;
  return with_random_contents("regular", std::move(graph), options);
}

}  // namespace spex
