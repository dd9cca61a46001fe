// Data sets that are made, not read. Each is a function of its options and its seed alone, whatever
// the number of threads, and marked synthetic.
#pragma once

#include <spex/data/dataset.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace spex {

// A field of mines: nodes are cells, joined to their up to eight neighbours; the label says whether
// a cell is a mine; the feature is the number of mines around it, hidden for half of the cells.
struct MinesweeperOptions {
  size_t rows = 100;
  size_t columns = 100;
  double mines = 0.2;   // share of the cells
  double hidden = 0.5;  // share of the cells that do not show their number
  uint64_t seed = 0;
};
Dataset generate_minesweeper(const MinesweeperOptions& options);

// The task of the paper's first figure: two clusters a component, joined by one bridge; the label
// says whether the component has both colours.
struct BridgeOptions {
  size_t nodes = 10'000;  // rounded down to whole components
  size_t cluster = 50;    // nodes in a cluster, all joined to each other
  uint64_t seed = 0;
};
Dataset generate_bridge(const BridgeOptions& options);

// A degree-corrected block model: classes, power-law degrees, features around a class's centre.
struct SbmOptions {
  size_t nodes = 10'000;
  double degree = 20.0;  // on average
  size_t classes = 10;   // of equal size
  size_t features = 32;
  double homophily = 0.7;  // share of edges that stay in the class on purpose; others go anywhere
  double skew = 0.5;       // node r of a class has a degree like (r + 1)^-skew; 0: all alike
  double noise = 1.0;      // of the features; 1: a node alone tells little, its neighbours much
  uint64_t seed = 0;
};
Dataset generate_sbm(const SbmOptions& options);

// Counts, degree skew, feature width and classes of a public data set, but none of its data.
struct TwinOptions {
  std::string name;    // arxiv, proteins, pokec, amazon2m
  double scale = 1.0;  // of nodes and edges alike; degrees stay
  uint64_t seed = 0;
};
Dataset generate_twin(const TwinOptions& options);

// For scaling studies: nothing to learn, any size.
struct RandomGraphOptions {
  size_t nodes = 10'000;
  double degree = 20.0;  // on average (er) or of every node (regular)
  size_t features = 64;
  size_t classes = 10;
  uint64_t seed = 0;
};
Dataset generate_er(const RandomGraphOptions& options);  // uniform over graphs of that many edges
Dataset generate_regular(const RandomGraphOptions& options);  // simple, every node the same degree

// Any generator by name. An option that is set but means nothing to the generator is an error.
struct GeneratorOptions {
  uint64_t seed = 0;
  std::optional<size_t> nodes = {};
  std::optional<size_t> cluster = {};    // bridge: nodes in a cluster
  std::optional<size_t> classes = {};    // sbm, er, regular
  std::optional<size_t> features = {};   // sbm, er, regular
  std::optional<double> scale = {};      // twins: of nodes and edges
  std::optional<double> degree = {};     // sbm, er, regular
  std::optional<double> homophily = {};  // sbm
  std::optional<double> skew = {};       // sbm: of the degrees
  std::optional<double> noise = {};      // sbm: of the features
};

struct GeneratorInfo {
  std::string_view name;
  std::string_view what;     // one line for help texts
  std::string_view options;  // the fields of GeneratorOptions it takes besides the seed
};

const std::vector<GeneratorInfo>& generators();
bool is_generator(std::string_view name);
Dataset generate(const std::string& name, const GeneratorOptions& options = {});

}  // namespace spex
