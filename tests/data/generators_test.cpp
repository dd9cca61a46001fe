#include <gtest/gtest.h>
#include <spex/core/error.h>
#include <spex/core/threads.h>
#include <spex/data/generators.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <vector>

namespace spex {
namespace {

ConstMatrixView features(const Dataset& data) {
  return std::get<DenseFeatures>(data.features).view();
}

// Simple, undirected, sorted rows.
void expect_simple(const CsrGraph& graph) {
  EXPECT_TRUE(graph.symmetric);
  for (NodeId i = 0; i < graph.nodes(); ++i) {
    auto row = graph.row(i);
    for (size_t k = 0; k < row.size(); ++k) {
      ASSERT_NE(row[k], i);
      ASSERT_TRUE(k == 0 || row[k - 1] < row[k]);
      ASSERT_TRUE(std::ranges::binary_search(graph.row(row[k]), i));
    }
  }
}

void expect_partition(const Split& split, size_t nodes) {
  std::set<NodeId> all;
  for (const auto* part : {&split.train, &split.validation, &split.test}) {
    EXPECT_TRUE(std::ranges::is_sorted(part->span()));
    all.insert(part->begin(), part->end());
  }
  EXPECT_EQ(all.size(), nodes);
  EXPECT_EQ(split.train.size() + split.validation.size() + split.test.size(), nodes);
}

template <class T>
bool same_bytes(const SharedArray<T>& a, const SharedArray<T>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

bool same(const Dataset& a, const Dataset& b) {
  return same_bytes(a.graph.offsets, b.graph.offsets) &&
         same_bytes(a.graph.neighbours, b.graph.neighbours) &&
         same_bytes(std::get<DenseFeatures>(a.features).values,
                    std::get<DenseFeatures>(b.features).values) &&
         same_bytes(a.labels.classes, b.labels.classes) &&
         same_bytes(a.labels.values, b.labels.values) &&
         same_bytes(a.splits[0].train, b.splits[0].train);
}

double homophily(const Dataset& data) {
  size_t same_class = 0;
  for (size_t i = 0; i < data.nodes(); ++i)
    for (NodeId j : data.graph.row(i))
      same_class += data.labels.classes[i] == data.labels.classes[j];
  return static_cast<double>(same_class) / static_cast<double>(data.graph.edges());
}

// Share of the nodes whose class has the nearest mean, each node's features first averaged over
// itself and, if asked, its neighbours.
double nearest_mean_accuracy(const Dataset& data, bool with_neighbours) {
  auto x = features(data);
  size_t classes = data.labels.outputs;
  std::vector<std::vector<double>> rows(data.nodes()), means(classes);
  std::vector<double> counts(classes);
  for (auto& mean : means) mean.assign(x.cols, 0.0);
  for (size_t i = 0; i < data.nodes(); ++i) {
    rows[i].assign(x.row(i), x.row(i) + x.cols);
    if (with_neighbours)
      for (NodeId j : data.graph.row(i))
        for (size_t f = 0; f < x.cols; ++f) rows[i][f] += x(j, f);
    double scale = with_neighbours ? 1.0 + static_cast<double>(data.graph.degree(i)) : 1.0;
    auto c = static_cast<size_t>(data.labels.classes[i]);
    ++counts[c];
    for (size_t f = 0; f < x.cols; ++f) means[c][f] += rows[i][f] /= scale;
  }
  for (size_t c = 0; c < classes; ++c)
    for (double& value : means[c]) value /= counts[c];
  auto distance = [&](size_t i, size_t c) {
    double sum = 0;
    for (size_t f = 0; f < x.cols; ++f) sum += std::pow(rows[i][f] - means[c][f], 2);
    return sum;
  };
  size_t right = 0;
  for (size_t i = 0; i < data.nodes(); ++i) {
    size_t best = 0;
    for (size_t c = 1; c < classes; ++c)
      if (distance(i, c) < distance(i, best)) best = c;
    right += static_cast<int32_t>(best) == data.labels.classes[i];
  }
  return static_cast<double>(right) / static_cast<double>(data.nodes());
}

TEST(Generators, AreMarkedSyntheticAndDependOnTheSeedOnly) {
  for (const GeneratorInfo& info : generators()) {
    SCOPED_TRACE(info.name);
    std::string name(info.name);
    GeneratorOptions options;
    if (info.options == "scale") options.scale = name == "proteins" ? 0.03 : 0.01;
    set_threads(1);
    Dataset one = generate(name, options);
    set_threads(2);
    Dataset two = generate(name, options);
    set_threads(0);
    options.seed = 1;
    Dataset other = generate(name, options);
    EXPECT_TRUE(one.synthetic);
    EXPECT_TRUE(same(one, two));
    EXPECT_FALSE(same(one, other));
    expect_simple(one.graph);
    for (const Split& split : one.splits) expect_partition(split, one.nodes());
  }
}

TEST(Generators, RejectUnknownNamesAndOptions) {
  EXPECT_TRUE(is_generator("bridge"));
  EXPECT_FALSE(is_generator("cora"));
  EXPECT_THROW(generate("cora"), Error);
  try {
    generate("arxiv", {.homophily = 0.5});
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "the generator arxiv has no option homophily; it takes seed scale");
  }
}

TEST(Minesweeper, HasTheCountsOfThePublicDataSet) {
  Dataset data = generate_minesweeper({});
  EXPECT_EQ(data.nodes(), 10000);
  EXPECT_EQ(data.graph.edges(), 78804);
  EXPECT_EQ(std::ranges::count(data.labels.classes, 1), 2000);
  ASSERT_EQ(data.splits.size(), 10);
  EXPECT_EQ(data.splits[3].train.size(), 5000);
  EXPECT_EQ(data.splits[3].validation.size(), 2500);
  // Counted in the public file: hidden, then 0, 1, 2, 3, 4, 5 and more mines around.
  std::vector<int> expected = {5000, 858, 1726, 1442, 677, 232, 65}, counts(7);
  for (size_t i = 0; i < data.nodes(); ++i)
    for (size_t f = 0; f < 7; ++f) counts[f] += features(data)(i, f) == 1.0F;
  EXPECT_EQ(counts[0], 5000);
  for (size_t f = 1; f < 7; ++f)
    EXPECT_NEAR(counts[f], expected[f], 5 * std::sqrt(expected[f])) << f;
}

TEST(Minesweeper, ShowsTheNumberOfMinesAroundEachShownCell) {
  size_t rows = 13, columns = 29;
  Dataset data = generate_minesweeper({.rows = rows, .columns = columns, .mines = 0.4});
  auto mine = [&](size_t r, size_t c) {
    return r < rows && c < columns && data.labels.classes[r * columns + c] == 1;
  };
  for (size_t r = 0; r < rows; ++r)
    for (size_t c = 0; c < columns; ++c) {
      int around = mine(r - 1, c - 1) + mine(r - 1, c) + mine(r - 1, c + 1) + mine(r, c - 1) +
                   mine(r, c + 1) + mine(r + 1, c - 1) + mine(r + 1, c) + mine(r + 1, c + 1);
      const float* row = features(data).row(r * columns + c);
      ASSERT_EQ(std::count(row, row + 7, 1.0F), 1);
      ASSERT_EQ(std::count(row, row + 7, 0.0F), 6);
      ASSERT_TRUE(row[0] == 1.0F || row[1 + std::min(around, 5)] == 1.0F);
    }
}

// Floods each component and compares its colours with the label.
TEST(Bridge, LabelSaysWhetherTheComponentHasBothColours) {
  Dataset data = generate_bridge({.nodes = 2000, .cluster = 10});
  ASSERT_EQ(data.nodes(), 2000);
  auto x = features(data);
  std::vector<int> component(data.nodes(), -1);
  int components = 0;
  for (NodeId start = 0; start < data.nodes(); ++start) {
    if (component[start] >= 0) continue;
    std::vector<NodeId> members = {start};
    component[start] = components;
    for (size_t m = 0; m < members.size(); ++m)
      for (NodeId next : data.graph.row(members[m]))
        if (component[next] < 0) {
          component[next] = components;
          members.push_back(next);
        }
    ++components;
    ASSERT_EQ(members.size(), 20);
    std::set<float> colours;
    for (NodeId node : members) colours.insert(x(node, 0));
    for (NodeId node : members) ASSERT_EQ(data.labels.classes[node], colours.size() == 2);
  }
  EXPECT_EQ(components, 100);
  EXPECT_EQ(std::ranges::count(data.labels.classes, 1), 1000);
  std::set<int> trained;
  for (NodeId node : data.splits[0].train) trained.insert(component[node]);
  for (NodeId node : data.splits[0].test) ASSERT_FALSE(trained.contains(component[node]));
}

TEST(Bridge, ColourAndDegreeSayNothingOfTheLabel) {
  Dataset data = generate_bridge({.nodes = 4000, .cluster = 10});
  int by_colour[2][2] = {}, bridge_ends[2] = {};
  for (size_t i = 0; i < data.nodes(); ++i) {
    int label = data.labels.classes[i];
    ++by_colour[label][features(data)(i, 0) == 1.0F];
    bridge_ends[label] += data.graph.degree(i) == 10;
  }
  EXPECT_EQ(by_colour[0][0], by_colour[1][0]);
  EXPECT_EQ(by_colour[0][1], by_colour[1][1]);
  EXPECT_EQ(bridge_ends[0], bridge_ends[1]);
}

TEST(Sbm, OptionsDoWhatTheySay) {
  SbmOptions options;
  options.nodes = 4000;
  Dataset plain = generate_sbm(options);
  EXPECT_EQ(plain.graph.edges(), 80000);
  EXPECT_NEAR(homophily(plain), 0.7 + 0.3 / 10, 0.01);
  auto largest = [](const Dataset& data) {
    size_t degree = 0;
    for (size_t i = 0; i < data.nodes(); ++i) degree = std::max(degree, data.graph.degree(i));
    return degree;
  };
  options.skew = 0.0;
  options.homophily = 0.0;
  options.noise = 0.2;
  Dataset even = generate_sbm(options);
  EXPECT_NEAR(homophily(even), 0.1, 0.01);
  EXPECT_LT(largest(even), 50);
  EXPECT_GT(largest(plain), 100);
  EXPECT_GT(nearest_mean_accuracy(even, false), 0.95);
  options.homophily = 1.5;
  EXPECT_THROW(generate_sbm(options), Error);
}

TEST(Twins, HaveTheCountsOfThePaperAndItsSplit) {
  Dataset arxiv = generate_twin({.name = "arxiv"});
  EXPECT_EQ(arxiv.nodes(), 169'343);
  EXPECT_EQ(arxiv.graph.edges(), 2'332'486);
  EXPECT_EQ(features(arxiv).cols, 128);
  EXPECT_EQ(arxiv.labels.outputs, 40);
  EXPECT_NEAR(static_cast<double>(arxiv.splits[0].train.size()), 0.54 * 169'343, 40);
}

TEST(Twins, ScaleNodesAndEdgesExactly) {
  Dataset pokec = generate_twin({.name = "pokec", .scale = 0.01});
  EXPECT_EQ(pokec.nodes(), 16'328);
  EXPECT_EQ(pokec.graph.edges(), 2 * 153'113);
  Dataset proteins = generate_twin({.name = "proteins", .scale = 0.03});
  EXPECT_EQ(proteins.nodes(), 3976);
  EXPECT_EQ(proteins.graph.edges(), 2 * 1'186'838);
  EXPECT_EQ(proteins.labels.task, Task::binary_labels);
  EXPECT_EQ(proteins.labels.values.size(), 3976 * 112);
  EXPECT_EQ(features(proteins).cols, 8);
  EXPECT_THROW(generate_twin({.name = "proteins", .scale = 0.001}), Error);
}

TEST(Twins, NeighboursTellMuchMoreThanANodeAlone) {
  for (const char* name : {"arxiv", "pokec", "amazon2m"}) {
    Dataset twin = generate_twin({.name = name, .scale = 0.01});
    double alone = nearest_mean_accuracy(twin, false), together = nearest_mean_accuracy(twin, true);
    EXPECT_GT(together, alone + 0.05) << name;
    EXPECT_LT(together, 0.95) << name;
  }
}

TEST(RandomGraphs, HaveTheDegreesAskedFor) {
  EXPECT_EQ(generate_er({.nodes = 1001, .degree = 7}).graph.edges(), 2 * 3504);
  for (size_t degree : {0UL, 1UL, 2UL, 7UL, 24UL}) {
    Dataset data = generate_regular({.nodes = 100, .degree = static_cast<double>(degree)});
    expect_simple(data.graph);
    for (size_t i = 0; i < 100; ++i) ASSERT_EQ(data.graph.degree(i), degree);
  }
  EXPECT_THROW(generate_regular({.nodes = 101, .degree = 3}), Error);
  EXPECT_THROW(generate_regular({.nodes = 100, .degree = 2.5}), Error);
}

}  // namespace
}  // namespace spex
