// Files as strangers have them: what is read, what is said about it, and what is refused.
#include "strangers.h"

#include <spex/data/native.h>

namespace spex {
namespace {

using namespace test;

TEST_F(Strangers, MatrixMarketCountsFromOneAndHasASizeLine) {
  Dataset general = read_dataset(write("g.mtx",
                                       "%%MatrixMarket matrix coordinate real general\n% made\n"
                                       "4 4 3\n1 2 0.5\n2 3 1.5\n3 1 2.5\n"));
  EXPECT_EQ(general.nodes(), 4U);
  EXPECT_EQ(row(general, 0), (std::vector<NodeId>{1, 2}));
  EXPECT_EQ(general.keys.of(0), "1");
  EXPECT_EQ(general.edge_features[1], 2.5F);
  ReadOptions directed;
  directed.undirected = false;
  Dataset symmetric = read_dataset(
      write("s.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 2\n"),
      directed);
  EXPECT_EQ(row(symmetric, 1), (std::vector<NodeId>{0, 2}));
  EXPECT_EQ(symmetric.edge_feature_count, 0U);
  Dataset labelled = tables("%%MatrixMarket matrix coordinate pattern general\n3 3 2\n2 1\n3 2\n",
                            "", "id,label\n3,b\n1,a\n2,a\n");
  EXPECT_EQ(labelled.labels.classes[2], 1);
  std::string head = "%%MatrixMarket matrix coordinate pattern general\n";
  EXPECT_SAYS(refused(head + "3 3 1\n0 1\n", "", ""), "line 3: '0' is not a whole number from 1");
  EXPECT_SAYS(refused(head + "3 3 2\n1 2\n", "", ""), "1 entries");
  EXPECT_SAYS(refused(head + "3 4 1\n1 2\n", "", ""), "not square");
  EXPECT_SAYS(refused(head + "4000000000 4000000000 1\n1 2\n", "", ""), "more than its");
  EXPECT_SAYS(refused("%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n", "", ""),
              "sparse matrix");
}

TEST_F(Strangers, OtherFormatsAreRefusedWithWhatToDo) {
  for (const char* text : {"<?xml version=\"1.0\"?>\n<graphml>\n", "  <gexf>", "graph [\n node [",
                           "digraph G { a -> b }", "*Vertices 3\n1 \"a\"\n"})
    EXPECT_SAYS(read_refusal(write("g.txt", text)), "save the edges as a table");
  EXPECT_SAYS(read_refusal(write("g.npz", "0,1\n1,2\n")), "not hold what its name says");
  EXPECT_SAYS(read_refusal(write("g.csv",
                                 "\xff\xfe"
                                 "0")),
              "UTF-16");
  EXPECT_SAYS(refused("0 1 2 3\n1 2\n", "", ""), "line 2: 2 fields, expected 4");
  EXPECT_SAYS(refused("0.5,0,1\n0.25,1,2\n", "", ""), "the node id '0.5'");
  EXPECT_SAYS(refused("2024-01-02,a,b\n2024-01-03,b,c\n", "", ""), "'2024-01-02'");
}

TEST_F(Strangers, LabelsOfUnknownNodesAreCountedAndWarnedAbout) {
  std::string labels = "id,label\n";
  for (int i = 0; i < 30; ++i) labels += fmt::format("{},{}\n", i, i % 2);
  Dataset dataset = tables("0,1\n1,2\n2,3\n", "", labels);
  EXPECT_EQ(dataset.nodes(), 30U);
  EXPECT_SAYS(said_, "warning: ");
  EXPECT_SAYS(said_, "26 of 30 labelled nodes have no edge");
  tables("0,1\n1,2\n", R"({"0": [1]})", "id,label\n0,1\n1,0\n2,0\n");
  EXPECT_SAYS(said_, "2 of 3 labelled nodes have no row of features");
  tables("0,1\n1,2\n", "", "id,label\n0,1\n1,0\n2,0\n");
  EXPECT_EQ(said_.find("warning"), std::string::npos) << said_;
}

TEST_F(Strangers, IdsThatAreOneOffAreSaid) {
  std::string edges = "1,2\n2,3\n3,1\n", lists = R"({"0": [1], "1": [2], "2": [1]})";
  tables(edges, lists, "id,label\n1,a\n2,b\n3,a\n");
  EXPECT_SAYS(said_, "f.csv: its ids and those of the edges seem to be one off");
  tables(edges, "", "id,label\n0,a\n1,b\n2,a\n");
  EXPECT_SAYS(said_, "l.csv: its ids and those of the edges seem to be one off");
  tables(edges, "", "id,label\n1,a\n2,b\n3,a\n");
  EXPECT_EQ(said_.find("one off"), std::string::npos) << said_;
}

TEST_F(Strangers, ASecondLabelColumnIsSaid) {
  Dataset dataset = tables("0,1\n1,2\n", "", "id,label,class\n0,1,0\n1,0,0\n2,0,1\n");
  EXPECT_EQ(dataset.labels.classes[0], 1);
  EXPECT_SAYS(said_, "'label', but class could be meant");
  EXPECT_SAYS(refused("0,1\n1,2\n", "", "id,a,b\n0,1.5,3\n1,2.5,4\n2,3.5,5\n"), "--label-column");
}

TEST_F(Strangers, WholeNumbersAreClassesOrQuantities) {
  EXPECT_EQ(tables("0,1\n", "", "id,a\n0,7\n1,\n").class_names, std::vector<std::string>{"7"});
  Dataset floats = tables("0,1\n1,2\n", "", "id,y\n0,1.0\n1,0.0\n2,\n");
  EXPECT_EQ(floats.labels.task, Task::classes);
  EXPECT_EQ(floats.labels.classes[2], -1);
  Dataset signs = tables("0,1\n1,2\n", "", "id,y\n0,-1\n1,1\n2,1\n");
  EXPECT_EQ(signs.class_names, (std::vector<std::string>{"-1", "1"}));
  Dataset unknown = tables("0,1\n1,2\n", "", "id,y\n0,-1\n1,1\n2,0\n");
  EXPECT_EQ(unknown.labels.outputs, 2U);
  EXPECT_EQ(unknown.labels.classes[0], -1);
  std::string edges, traffic = "id,target\n";
  for (int i = 0; i < 50; ++i) {
    edges += fmt::format("{},{}\n", i, (i + 1) % 50);
    traffic += fmt::format("{},{}\n", i, 1000 + 37 * i);
  }
  EXPECT_EQ(tables(edges, "", traffic).labels.task, Task::regression);
  EXPECT_SAYS(said_, "50 different whole numbers");
  ReadOptions options;
  options.task = LabelTask::classes;
  EXPECT_EQ(tables(edges, "", traffic, options).labels.outputs, 50U);
  options.task = LabelTask::regression;
  EXPECT_EQ(tables("0,1\n", "", "id,y\n0,1\n1,0\n", options).labels.task, Task::regression);
}

TEST_F(Strangers, MissingValuesBecomeTheMeanAndAFlag) {
  Dataset dataset = tables("0,1\n1,2\n", "id,a,b\n0,1,5\n1,NA,6\n2,3,7\n", "");
  auto view = dense(dataset);
  ASSERT_EQ(view.cols, 3U);
  EXPECT_EQ(view(1, 0), 2.0F);
  EXPECT_EQ(view(1, 2), 1.0F);
  EXPECT_EQ(view(0, 2), 0.0F);
  EXPECT_EQ(view(2, 1), 7.0F);
  Dataset absent = tables("0,1\n1,2\n", "id,a\n0,1\n2,3\n", "");
  ASSERT_EQ(dense(absent).cols, 2U);
  EXPECT_EQ(dense(absent)(1, 0), 2.0F);
  EXPECT_EQ(dense(absent)(1, 1), 1.0F);
}

TEST_F(Strangers, TextOfFewValuesBecomesColumnsAndOtherTextIsRefusedByName) {
  Dataset dataset = tables("0,1\n1,2\n2,3\n", "id,sex,age\n0,f,1\n1,m,2\n2,f,3\n3,,4\n", "");
  auto view = dense(dataset);
  ASSERT_EQ(view.cols, 3U);
  EXPECT_EQ(view(0, 0), 1.0F);
  EXPECT_EQ(view(1, 1), 1.0F);
  EXPECT_EQ(view(3, 0) + view(3, 1), 0.0F);
  EXPECT_EQ(view(3, 2), 4.0F);
  EXPECT_SAYS(refused("0,1\n1,2\n", "id,joined\n0,2020-01-05\n1,2021-11-05\n2,2020-03-05\n", ""),
              "'joined' holds dates");
  EXPECT_SAYS(refused("0,1\n1,2\n", "id,about\n0,hello\n1,a b c\n2,you\n", ""),
              "'about' holds free text");
  EXPECT_SAYS(refused("0,1\n1,2\n", "id,a\n0,1\n1,2\n2,3x\n", ""), "line 4: '3x' in a");
}

TEST_F(Strangers, OneTableMayHoldFeaturesAndLabels) {
  TableFiles files{write("e.csv", "0,1\n1,2\n"), {}, {}};
  files.features = files.labels = write("nodes.csv", "id,age,label\n0,5,1\n1,6,0\n2,7,1\n");
  Dataset dataset = read_tables(files);
  EXPECT_EQ(feature_count(dataset.features), 1U);  // the label is no feature
  EXPECT_EQ(dataset.labels.classes[1], 0);
  write("g/links.csv", "src,dst\n0,1\n1,2\n");
  write("g/nodes.csv", "id,age,label\n0,5,1\n1,6,0\n2,7,1\n");
  Dataset folder = read_dataset(folder_ / "g");
  EXPECT_EQ(feature_count(folder.features), 1U);
  EXPECT_EQ(folder.graph.edges(), 4U);
}

// Keys, words that are 0 or 1, and a class at the end; no header anywhere.
TEST_F(Strangers, CiteseersOwnFilesAreReadAsTheyAre) {
  std::string content, cites;
  for (int i = 0; i < 20; ++i) {
    content += fmt::format("{}\t{}\t{}\t{}\n", 1000 + 37 * i, i % 2, i / 2 % 2,
                           i % 3 == 0 ? "Agents" : "DB");
    cites += fmt::format("{}\t{}\n", 1000 + 37 * i, 1000 + 37 * ((i + 1) % 20));
  }
  write("cora/cora.content", content);
  write("cora/cora.cites", cites);
  Dataset dataset = read_dataset(folder_ / "cora");
  EXPECT_EQ(dataset.nodes(), 20U);
  EXPECT_EQ(dataset.class_names, (std::vector<std::string>{"Agents", "DB"}));
  EXPECT_EQ(feature_count(dataset.features), 2U);
  EXPECT_EQ(dense(dataset)(3, 0), 1.0F);
  EXPECT_EQ(row(dataset, 19), (std::vector<NodeId>{0, 18}));
}

TEST_F(Strangers, TablesReplaceTheLabelsOfADataSet) {
  Dataset dataset = read_dataset(write("e.csv", "ann,bob\nbob,cy\n"));
  TableFiles files;
  files.labels = write("l.csv", "name,team\ncy,red\nann,blue\nbob,red\n");
  Dataset labelled = with_tables(std::move(dataset), files);
  EXPECT_EQ(labelled.class_names, (std::vector<std::string>{"blue", "red"}));
  EXPECT_EQ(labelled.labels.classes[2], 1);
  files.labels = write("m.csv", "name,team\ncy,red\ndan,blue\n");
  EXPECT_SAYS(refusal([&] { with_tables(std::move(labelled), files); }),
              "line 3: the node id 'dan' is not the id of a node");
}

TEST_F(Strangers, KeysComeBackFromTheNativeFile) {
  for (const char* text : {"ann,bob\nbob,cy\n", "7,145647315578475\n145647315578475,300000000\n"}) {
    Dataset dataset = read_dataset(write("e.csv", text));
    save_native(dataset, folder_ / "d.safetensors");
    Dataset again = read_dataset(folder_ / "d.safetensors");
    ASSERT_EQ(again.keys.size(), 3U);
    KeyIndex index(again.keys, again.nodes());
    for (NodeId node = 0; node < 3; ++node) {
      EXPECT_EQ(again.keys.of(node), dataset.keys.of(node));
      EXPECT_EQ(index.find(dataset.keys.of(node)), node);
    }
    EXPECT_SAYS(refusal([&] { index.find("zoe"); }), "no node is called 'zoe'");
  }
  Dataset plain = read_dataset(write("p.csv", "0,1\n1,2\n"));
  EXPECT_TRUE(plain.keys.empty());
  EXPECT_EQ(KeyIndex(plain.keys, 3).find("2"), 2U);
  EXPECT_SAYS(refusal([&] { KeyIndex(plain.keys, 3).find("3"); }), "nodes are 0 to 2");
}

TEST_F(Strangers, EdgeColumnsBecomeEdgeFeatures) {
  Dataset dataset =
      tables("source,target,weight,kind\n0,1,1,road\n1,0,3,road\n1,2,,rail\n2,3,8,road\n", "", "");
  ASSERT_EQ(dataset.edge_feature_count, 4U);  // weight, rail, road, and where weight is missing
  auto edge = [&](size_t e, size_t c) { return dataset.edge_features[e * 4 + c]; };
  EXPECT_EQ(edge(0, 0), 2.0F);  // the mean of both directions
  EXPECT_EQ(edge(1, 0), 2.0F);
  EXPECT_EQ(edge(2, 0), 4.0F);  // the column's mean
  EXPECT_EQ(edge(2, 3), 1.0F);
  EXPECT_EQ(edge(2, 1), 1.0F);  // rail
  EXPECT_EQ(edge(0, 2), 1.0F);  // road
  save_native(dataset, folder_ / "d.safetensors");
  Dataset again = read_dataset(folder_ / "d.safetensors");
  EXPECT_EQ(std::vector(again.edge_features.begin(), again.edge_features.end()),
            std::vector(dataset.edge_features.begin(), dataset.edge_features.end()));
  ReadOptions sum;
  sum.combine = EdgeCombine::sum;
  sum.weight_column = "weight";
  Dataset added = tables("source,target,weight\n0,1,1\n1,0,3\n1,2,5\n", "", "", sum);
  EXPECT_EQ(added.edge_features[0], 4.0F);
}

}  // namespace
}  // namespace spex
