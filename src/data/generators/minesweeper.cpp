// The rule of the public Minesweeper data set (Platonov et al., "A critical look at the evaluation
// of GNNs under heterophily"), read off its file: exactly a fifth of the cells are mines, exactly
// half of all cells, mines or not, are hidden. Column 0 flags a hidden cell; columns 1 to 6 are
// one- hot for 0, 1, 2, 3, 4 and "5 or more" mines around a shown one. Ten splits, 50/25/25 per
// class.

#include <spex/core/error.h>
#include <spex/data/generators.h>
#include <spex/graph/builder.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "data/generators/generator_parts.h"

namespace spex {
namespace {

constexpr size_t kColumns = 7;
constexpr uint32_t kMostShown = 5;
constexpr uint32_t kSplits = 10;

void check(const MinesweeperOptions& options) {
  require(options.rows > 0 && options.columns > 0,
          "a minesweeper field needs rows and columns, not {} x {}", options.rows, options.columns);
  require(options.rows <= std::numeric_limits<NodeId>::max() / options.columns,
          "a minesweeper field of {} x {} has more cells than 32-bit ids can tell apart",
          options.rows, options.columns);
  require(options.mines >= 0 && options.mines <= 1 && options.hidden >= 0 && options.hidden <= 1,
          "minesweeper: the shares of mines ({}) and hidden cells ({}) must lie between 0 and 1",
          options.mines, options.hidden);
}

CsrGraph grid(size_t rows, size_t columns) {
  std::vector<NodeId> sources, targets;
  sources.reserve(4 * rows * columns);
  targets.reserve(4 * rows * columns);
  auto join = [&](size_t from, size_t row, size_t column) {
    if (row >= rows || column >= columns) return;  // west of column 0 is a huge number
    sources.push_back(static_cast<NodeId>(from));
    targets.push_back(static_cast<NodeId>(row * columns + column));
  };
  // East, and the three cells of the next row; the builder adds the reverse.
  for (size_t r = 0; r < rows; ++r)
    for (size_t c = 0; c < columns; ++c) {
      size_t cell = r * columns + c;
      join(cell, r, c + 1);
      for (size_t below : {c - 1, c, c + 1}) join(cell, r + 1, below);
    }
  return build_csr(rows * columns, sources, targets).graph;
}

// A random choice of exactly round(share * cells) cells.
std::vector<bool> choose(size_t cells, double share, const Random& random) {
  auto order = random_permutation(cells, random);
  std::vector<bool> chosen(cells);
  auto count = static_cast<size_t>(std::llround(share * static_cast<double>(cells)));
  for (size_t i = 0; i < count; ++i) chosen[order[i]] = true;
  return chosen;
}

DenseFeatures numbers(const CsrGraph& graph, const std::vector<bool>& mines,
                      const std::vector<bool>& hidden) {
  Buffer<float> values(graph.nodes() * kColumns, MemoryTag::features);
  std::fill(values.begin(), values.end(), 0.0F);
  for (size_t i = 0; i < graph.nodes(); ++i) {
    uint32_t around = 0;
    for (NodeId j : graph.row(i)) around += mines[j];
    values[i * kColumns + (hidden[i] ? 0 : 1 + std::min(around, kMostShown))] = 1.0F;
  }
  return {graph.nodes(), kColumns, std::move(values)};
}

}  // namespace

Dataset generate_minesweeper(const MinesweeperOptions& options) {
  check(options);
  size_t cells = options.rows * options.columns;
  Dataset data;
  data.name = "minesweeper";
  data.source = fmt::format("generator minesweeper, {} x {}, seed {}", options.rows,
                            options.columns, options.seed);
  data.synthetic = true;
  data.graph = grid(options.rows, options.columns);
  auto mines = choose(cells, options.mines, part_random(options.seed, Part::labels));
  auto hidden = choose(cells, options.hidden, part_random(options.seed, Part::features));
  data.features = numbers(data.graph, mines, hidden);
  Buffer<int32_t> classes(cells, MemoryTag::other);
  std::ranges::copy(mines, classes.begin());
  for (uint32_t s = 0; s < kSplits; ++s)
    data.splits.push_back(
        stratified_split(classes.span(), 2, {}, part_random(options.seed, Part::split, s)));
  data.labels = {Task::classes, 2, std::move(classes), {}};
  data.class_names = {"free", "mine"};
  return data;
}

}  // namespace spex
