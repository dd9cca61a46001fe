#include <spex/core/error.h>
#include <spex/data/generators.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace spex {
namespace {

using Options = GeneratorOptions;

template <class T>
void take(T& field, const std::optional<T>& option) {
  if (option) field = *option;
}

Dataset minesweeper(const Options& given) {
  MinesweeperOptions options;
  options.seed = given.seed;
  if (given.nodes) {
    options.rows = static_cast<size_t>(std::sqrt(static_cast<double>(*given.nodes)));
    options.columns = options.rows == 0 ? 0 : *given.nodes / options.rows;
  }
  return generate_minesweeper(options);
}

Dataset bridge(const Options& given) {
  BridgeOptions options;
  options.seed = given.seed;
  take(options.nodes, given.nodes);
  take(options.cluster, given.cluster);
  return generate_bridge(options);
}

Dataset sbm(const Options& given) {
  SbmOptions options;
  options.seed = given.seed;
  take(options.nodes, given.nodes);
  take(options.degree, given.degree);
  take(options.classes, given.classes);
  take(options.features, given.features);
  take(options.homophily, given.homophily);
  take(options.skew, given.skew);
  take(options.noise, given.noise);
  return generate_sbm(options);
}

template <Dataset (*make)(const RandomGraphOptions&)>
Dataset random_graph(const Options& given) {
  RandomGraphOptions options;
  options.seed = given.seed;
  take(options.nodes, given.nodes);
  take(options.degree, given.degree);
  take(options.features, given.features);
  take(options.classes, given.classes);
  return make(options);
}

struct Generator {
  GeneratorInfo info;
  std::function<Dataset(const Options&)> make;
};

Generator twin(std::string_view name, std::string_view what) {
  return {{name, what, "scale"}, [name](const Options& given) {
            TwinOptions options;
            options.name = name;
            options.seed = given.seed;
            take(options.scale, given.scale);
            return generate_twin(options);
          }};
}

const std::vector<Generator>& table() {
  static const std::vector<Generator> generators = {
      {{"minesweeper", "a field of mines, half of its numbers hidden", "nodes"}, minesweeper},
      {{"bridge", "two clusters and one bridge: do both colours occur?", "nodes cluster"}, bridge},
      {{"sbm", "skewed degrees, noisy features",
        "nodes degree classes features homophily skew noise"},
       sbm},
      twin("arxiv", "the size of ogbn-arxiv: 169,343 nodes, 2.3 M directed edges"),
      twin("proteins", "the size of ogbn-proteins: 132,534 nodes, 79 M directed edges"),
      twin("pokec", "the size of Pokec: 1.63 M nodes, 31 M directed edges"),
      twin("amazon2m", "the size of Amazon2M: 2.45 M nodes, 124 M directed edges"),
      {{"er", "random edges", "nodes degree features classes"}, random_graph<generate_er>},
      {{"regular", "random edges, all degrees alike", "nodes degree features classes"},
       random_graph<generate_regular>},
  };
  return generators;
}

void check_taken(const GeneratorInfo& info, const Options& given) {
  auto check = [&](std::string_view option, bool set) {
    require(!set || info.options.find(option) != std::string_view::npos,
            "the generator {} has no option {}; it takes seed {}", info.name, option, info.options);
  };
  check("nodes", given.nodes.has_value());
  check("cluster", given.cluster.has_value());
  check("classes", given.classes.has_value());
  check("features", given.features.has_value());
  check("scale", given.scale.has_value());
  check("degree", given.degree.has_value());
  check("homophily", given.homophily.has_value());
  check("skew", given.skew.has_value());
  check("noise", given.noise.has_value());
}

}  // namespace

const std::vector<GeneratorInfo>& generators() {
  static const std::vector<GeneratorInfo> infos = [] {
    std::vector<GeneratorInfo> list;
    for (const Generator& generator : table()) list.push_back(generator.info);
    return list;
  }();
  return infos;
}

bool is_generator(std::string_view name) {
  return std::ranges::find(generators(), name, &GeneratorInfo::name) != generators().end();
}

Dataset generate(const std::string& name, const GeneratorOptions& options) {
  for (const Generator& generator : table()) {
    if (generator.info.name != name) continue;
    check_taken(generator.info, options);
    return generator.make(options);
  }
  std::string known;
  for (const GeneratorInfo& info : generators()) known += fmt::format(" {}", info.name);
  fail("there is no generator called {}; there are:{}", name, known);
}

}  // namespace spex
