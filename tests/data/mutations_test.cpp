// One small data set, written in every way that spreadsheets, data frames and people write tables:
// whatever the dress, the same graph, features and labels must come out.
#include <spex/core/log.h>

#include <algorithm>

#include "support.h"

namespace spex {
namespace {

using namespace test;
using Row = std::vector<std::string>;
using Sheet = std::vector<Row>;

// How a sheet becomes text.
struct Dress {
  std::string separator = ",";
  std::string line_end = "\n";
  std::string before;  // the first row
  bool quoted = false;
  bool gzip = false;
  bool last_line_ends = true;
};

std::string text_of(const Sheet& sheet, const Dress& dress) {
  std::string text = dress.before;
  for (size_t r = 0; r < sheet.size(); ++r) {
    for (size_t c = 0; c < sheet[r].size(); ++c) {
      if (c > 0) text += dress.separator;
      text += dress.quoted ? "\"" + sheet[r][c] + "\"" : sheet[r][c];
    }
    if (r + 1 < sheet.size() || dress.last_line_ends) text += dress.line_end;
  }
  return text;
}

std::vector<Dress> dresses() {
  std::vector<Dress> all(14);
  for (size_t i = 0; i < 5; ++i) all[i].separator = std::vector{",", ";", "\t", " ", "|"}[i];
  all[5].line_end = "\r\n";
  all[6].line_end = "\r";
  all[7].before = "\xef\xbb\xbf";
  all[8].quoted = true;
  all[9].gzip = true;
  all[10] = {";", "\r\n", "\xef\xbb\xbf", true, true, true};
  all[11] = {"\t", "\r", "", false, true, false};
  all[12].before = "# made by hand\n\n";
  all[13].last_line_ends = false;
  return all;
}

Sheet reordered(const Sheet& sheet, const std::vector<size_t>& order) {
  Sheet result;
  for (const Row& row : sheet) {
    Row& to = result.emplace_back();
    for (size_t c : order) to.push_back(row[c]);
  }
  return result;
}

Sheet with_index(const Sheet& sheet, const std::string& name) {
  Sheet result = sheet;
  for (size_t r = 0; r < sheet.size(); ++r)
    result[r].insert(result[r].begin(), r == 0 ? name : std::to_string(r - 1));
  return result;
}

constexpr size_t kNodes = 60;

// A ring with chords; weights tell the edges apart.
Sheet edges() {
  Sheet sheet = {{"from", "to"}};
  for (size_t i = 0; i < kNodes; ++i) {
    sheet.push_back({std::to_string(i), std::to_string((i + 1) % kNodes)});
    sheet.push_back({std::to_string(i), std::to_string((i + 7) % kNodes)});
  }
  return sheet;
}

// As in the Twitch files: `id` is a key of another system, the node is `new_id`.
Sheet labels() {
  Sheet sheet = {{"id", "days", "mature", "views", "partner", "new_id"}};
  for (size_t i = 0; i < kNodes; ++i) {
    size_t node = i * 7 % kNodes;
    sheet.push_back({std::to_string(73045350 + i * 31), std::to_string(400 + i * 13),
                     node % 3 == 0 ? "True" : "False", std::to_string(1000 + i * 17),
                     i % 9 == 0 ? "True" : "False", std::to_string(node)});
  }
  return sheet;
}

Sheet features() {
  Sheet sheet = {{"id", "age", "income"}};
  for (size_t i = 0; i < kNodes; ++i)
    sheet.push_back({std::to_string(kNodes - 1 - i), std::to_string(kNodes - 1 - i) + ".25",
                     std::to_string(i * 1000)});
  return sheet;
}

class Mutations : public Folder {
 protected:
  std::filesystem::path save(const std::string& name, const Sheet& sheet, const Dress& dress) {
    std::string text = text_of(sheet, dress);
    if (!dress.gzip) return write(name, text);
    write_gzip(folder_ / name, text);
    return folder_ / name;
  }
  Dataset read(const Sheet& e, const Sheet& f, const Sheet& l, const Dress& dress,
               ReadOptions options = {}) {
    TableFiles files{save("e", e, dress), save("f", f, dress), save("l", l, dress)};
    return read_tables(files, options);
  }
  static void expect_right(const Dataset& dataset, const std::string& what) {
    SCOPED_TRACE(what);
    ASSERT_EQ(dataset.nodes(), kNodes);
    EXPECT_EQ(dataset.graph.edges(), 4 * kNodes);
    EXPECT_EQ(row(dataset, 10), (std::vector<NodeId>{3, 9, 11, 17}));
    EXPECT_EQ(dataset.class_names, (std::vector<std::string>{"False", "True"}));
    for (size_t i = 0; i < kNodes; ++i) EXPECT_EQ(dataset.labels.classes[i], i % 3 == 0) << i;
    auto view = std::get<DenseFeatures>(dataset.features).view();
    ASSERT_EQ(view.cols, 2U);
    for (size_t i = 0; i < kNodes; ++i) {
      EXPECT_EQ(view(i, 0), static_cast<float>(i) + 0.25F);
      EXPECT_EQ(view(i, 1), static_cast<float>((kNodes - 1 - i) * 1000));
    }
  }
};

TEST_F(Mutations, EveryDressOfTheTablesReadsTheSame) {
  for (const Dress& dress : dresses())
    expect_right(read(edges(), features(), labels(), dress),
                 text_of(labels(), dress).substr(0, 80));
}

TEST_F(Mutations, TheOrderOfColumnsDoesNotMatter) {
  Dress plain;
  std::vector<size_t> order = {0, 1, 2, 3, 4, 5};
  do {  // 120 orders are enough: the first column stays at three places
    if (order[0] != 0 && order[0] != 2 && order[0] != 5) continue;
    if (order[1] > order[2]) continue;
    expect_right(read(edges(), features(), reordered(labels(), order), plain),
                 reordered(labels(), order)[0][0]);
  } while (std::next_permutation(order.begin(), order.end()));
  expect_right(read(edges(), reordered(features(), {1, 0, 2}), labels(), plain), "age first");
}

TEST_F(Mutations, AnIndexColumnWithoutANameIsNoData) {
  for (const char* name : {"", "Unnamed: 0", "index"})
    expect_right(read(with_index(edges(), name), with_index(features(), name),
                      with_index(labels(), name), {}),
                 name);
}

TEST_F(Mutations, RNamesItsRowsWithoutAHeaderForThem) {
  auto r_style = [](Sheet sheet) {
    for (size_t r = 1; r < sheet.size(); ++r)
      sheet[r].insert(sheet[r].begin(), "r" + std::to_string(r));
    return sheet;
  };
  Dress dress;
  dress.separator = " ";
  dress.quoted = true;
  expect_right(read(r_style(edges()), r_style(features()), r_style(labels()), dress), "R");
}

TEST_F(Mutations, HeadersDecideWhichColumnsAreTheEnds) {
  for (auto [source, target] :
       std::vector<std::pair<const char*, const char*>>{{"source", "target"},
                                                        {"src", "dst"},
                                                        {"From", "To"},
                                                        {"u", "v"},
                                                        {"id_1", "id_2"},
                                                        {"node_1", "node_2"},
                                                        {"user1", "user2"},
                                                        {"Source ID", "Target ID"}}) {
    ReadOptions directed;
    directed.undirected = false;
    Sheet sheet = {{source, target, "weight", "date"}};
    for (size_t i = 0; i < 20; ++i)
      sheet.push_back({std::to_string(i), std::to_string((i + 1) % 20), std::to_string(i) + ".5",
                       "2024-01-" + std::to_string(10 + i)});
    for (const auto& order : std::vector<std::vector<size_t>>{
             {0, 1, 2, 3}, {1, 0, 2, 3}, {3, 0, 1, 2}, {2, 3, 1, 0}, {2, 0, 3, 1}}) {
      Dataset dataset = read_dataset(save("d", reordered(sheet, order), {}), directed);
      ASSERT_EQ(dataset.nodes(), 20U) << source << order[0];
      EXPECT_EQ(row(dataset, 7), std::vector<NodeId>{8}) << source << order[0];
      ASSERT_EQ(dataset.edge_feature_count, 1U);
      EXPECT_EQ(dataset.edge_features[7], 7.5F);
    }
  }
}

TEST_F(Mutations, TheUserOverrulesTheHeader) {
  ReadOptions options;
  options.undirected = false;
  options.source_column = "b";
  options.target_column = "3";
  Sheet sheet = {{"source", "b", "target", "w"}, {"9", "0", "1", "2.5"}, {"9", "1", "2", "3.5"}};
  Dataset dataset = read_dataset(save("d", sheet, {}), options);
  EXPECT_EQ(dataset.nodes(), 3U);
  EXPECT_EQ(row(dataset, 1), std::vector<NodeId>{2});
  EXPECT_EQ(dataset.edge_feature_count, 2U);  // source and w
  options.weight_column = "w";
  dataset = read_dataset(save("d", sheet, {}), options);
  ASSERT_EQ(dataset.edge_feature_count, 1U);
  EXPECT_EQ(dataset.edge_features[1], 3.5F);
  options.source_column = "nobody";
  EXPECT_SAYS(read_refusal(folder_ / "d", options), "no column 'nobody'");
  ReadOptions ids;
  ids.id_column = "days";
  ids.label_column = "mature";
  Dataset by_days = read(edges(), features(), labels(), {}, ids);
  EXPECT_GT(by_days.nodes(), kNodes);  // days are no ids of the graph, but the user says so
}

TEST_F(Mutations, SparseIdsAreKeysAndDecimalCommasArePoints) {
  Dress dress;
  dress.separator = ";";
  Sheet sheet = {{"a", "b", "w"}, {"10397", "12892", "0,5"}, {"12892", "14057", "1,25"}};
  Dataset dataset = read_dataset(save("d", sheet, dress));
  EXPECT_EQ(dataset.nodes(), 3U);
  EXPECT_EQ(dataset.keys.of(0), "10397");
  EXPECT_EQ(dataset.keys.of(2), "14057");
  EXPECT_EQ(dataset.edge_features[0], 0.5F);
  Sheet targets = {{"node", "y"}, {"10397", "0,5"}, {"14057", "0,75"}};
  Dataset real = read_tables({folder_ / "d", {}, save("l", targets, dress)});
  EXPECT_EQ(real.labels.task, Task::regression);
  EXPECT_EQ(real.labels.values[2], 0.75F);
}

// pandas writes whole numbers so, in a column that has gaps.
TEST_F(Mutations, IdsMayHaveAZeroFraction) {
  auto as_reals = [](Sheet sheet, size_t columns) {
    for (size_t r = 1; r < sheet.size(); ++r)
      for (size_t c = 0; c < columns; ++c) sheet[r][c] += ".0";
    return sheet;
  };
  Sheet by_id = reordered(labels(), {5, 2});  // new_id, mature
  expect_right(read(as_reals(edges(), 2), features(), by_id, {}), "edges");
  expect_right(read(edges(), as_reals(features(), 1), as_reals(by_id, 1), {}), "tables");
  Sheet lost = edges();
  lost[1][0] = "1.23457E+11";
  EXPECT_SAYS(read_refusal(save("d", lost, {})), "'1.23457E+11' is not a whole number from 0");
  Sheet weights = {{"1.0", "5", "7"}, {"2.0", "7", "5"}};
  EXPECT_SAYS(read_refusal(save("d", weights, {})), "one may be a weight, not an id");
}

TEST_F(Mutations, WhatOtherProgramsWriteAroundEdgesIsRefused) {
  EXPECT_SAYS(read_refusal(write("b", "(0, 1)\n(1, 2)\n")), "an edge in brackets");
  EXPECT_SAYS(read_refusal(write("c", "4 5\n0 1\n0 2\n0 3\n1 2\n2 3\n")),
              "seems to be the numbers of nodes and edges");
  // A path from its end looks similar, and is a path.
  EXPECT_EQ(read_dataset(write("p", "4 3\n3 2\n2 1\n1 0\n")).nodes(), 5U);
  EXPECT_SAYS(read_refusal(write("q", "a,b,c\n0,1,\"x\ny\"\n")), "take line breaks out of fields");
}

}  // namespace
}  // namespace spex
