#include "data/formats/csv.h"
#include "support.h"

namespace spex {
namespace {

using namespace test;

class Tables : public Folder {
 protected:
  Dataset edges(std::string_view text, ReadOptions options = {}) const {
    return read_dataset(write("e.csv", text), options);
  }
  std::string edges_refused(std::string_view text) const {
    return read_refusal(write("e.csv", text));
  }
  Dataset tables(std::string_view e, std::string_view features, std::string_view labels,
                 const std::string& column = "") const {
    TableFiles files{write("e.csv", e), {}, {}};
    if (!features.empty()) files.features = write("f", features);
    if (!labels.empty()) files.labels = write("l.csv", labels);
    ReadOptions options;
    options.label_column = column;
    return read_tables(files, options);
  }
  std::string refused(std::string_view e, std::string_view features, std::string_view labels,
                      const std::string& column = "") const {
    return refusal([&] { tables(e, features, labels, column); }, folder_.string());
  }
};

TEST_F(Tables, EdgeListsOfEveryDressAreTheSame) {
  for (const char* text :
       {"0,1\n1,2\n", "id_1,id_2\n0,1\n1,2\n", "source\ttarget\r\n0\t1\r\n1\t2\r\n", "0 1\n1 2",
        "# comment\n% more\n0   1  0.5\n1 2 0.5\n", "a;b;w\n0;1;3\n1;2;4\n", "\n0,1\n\n1,2\n\n",
        "\"0\",\"1\"\n\"1\",\"2\"\n", " 0 , 1\n1,2\n"}) {
    Dataset dataset = edges(text);
    EXPECT_EQ(dataset.nodes(), 3U) << text;
    EXPECT_EQ(dataset.graph.edges(), 4U) << text;
    EXPECT_EQ(row(dataset, 1), (std::vector<NodeId>{0, 2})) << text;
  }
}

TEST_F(Tables, NamesAreNumberedInOrderOfAppearance) {
  Dataset dataset = edges("source,target\nann,bob\nbob,cy\n");
  EXPECT_EQ(row(dataset, 1), (std::vector<NodeId>{0, 2}));
  EXPECT_EQ(edges("ann bob\nbob cy\n").nodes(), 3U);
}

TEST_F(Tables, IdsOfAnotherSystemAreNumberedAnewAndCostNothing) {
  Dataset dataset = edges("145647315578475,7\n7,9000000000\n");
  EXPECT_EQ(dataset.nodes(), 3U);
  EXPECT_EQ(row(dataset, 0), (std::vector<NodeId>{1, 2}));
  // As many ids as the largest small one plus one, though there is no 0.
  Dataset lucky = edges("1,2\n2,3\n3,42949672950\n");
  EXPECT_EQ(row(lucky, 2), (std::vector<NodeId>{1, 3}));
  EXPECT_EQ(lucky.keys.of(3), "42949672950");
}

TEST_F(Tables, CleaningIsSwitchableAndCounted) {
  const char* text = "0,1\n0,1\n1,1\n1,2\n";
  Dataset cleaned = edges(text);
  EXPECT_EQ(cleaned.graph.edges(), 4U);
  EXPECT_EQ(cleaned.cleaning.duplicates_removed, 1U);
  EXPECT_EQ(cleaned.cleaning.self_loops_removed, 1U);
  ReadOptions keep;
  keep.undirected = keep.drop_duplicates = keep.drop_self_loops = false;
  EXPECT_EQ(edges(text, keep).graph.edges(), 4U);
  EXPECT_EQ(row(edges(text, keep), 0), (std::vector<NodeId>{1, 1}));
}

TEST_F(Tables, GzipIsInflatedWhateverItsLength) {
  std::string text = "from,to\n";
  for (int i = 0; i < 300000; ++i) text += fmt::format("{},{}\n", i, i + 1);
  write_gzip(folder_ / "e.csv.gz", text);
  Dataset dataset = read_dataset(folder_ / "e.csv.gz");
  EXPECT_EQ(dataset.nodes(), 300001U);
  EXPECT_EQ(dataset.graph.edges(), 600000U);
  std::string packed = read_text(folder_ / "e.csv.gz");
  write("e.csv.gz", packed.substr(0, packed.size() / 2));
  EXPECT_SAYS(read_refusal(folder_ / "e.csv.gz"), "cut short");
  packed[packed.size() / 2] ^= 0x3c;
  write("e.csv.gz", packed);
  read_refusal(folder_ / "e.csv.gz");
}

TEST_F(Tables, BadEdgeLinesAreNamedByNumber) {
  EXPECT_SAYS(edges_refused("0,1\n1,x\n"), "line 2: the node id 'x'");
  EXPECT_SAYS(edges_refused("a,b\n0,1\n-1,2\n"), "line 3: the node id '-1'");
  EXPECT_SAYS(edges_refused("0,1\n1\n"), "line 2: one field");
  EXPECT_SAYS(edges_refused("0,1\n1,\n"), "line 2: the node id ''");
  EXPECT_SAYS(edges_refused("0,1\n1,99999999999999999999999\n"), "line 2");
  EXPECT_SAYS(edges_refused("0,1\n\"1,2\n"), "line 2: a quoted field");
  EXPECT_SAYS(edges_refused("0,1\n1.5,2\n"), "line 2: the node id '1.5'");
}

TEST_F(Tables, EmptyAndBinaryFilesAreRefused) {
  EXPECT_SAYS(edges_refused(""), "is empty");
  EXPECT_SAYS(edges_refused("\n\n"), "no rows");
  EXPECT_SAYS(edges_refused("source,target\n"), "has no nodes");
  EXPECT_SAYS(edges_refused(std::string_view("ab\0cd\n", 6)), "not text");
  EXPECT_SAYS(read_refusal(folder_ / "nothing.csv"), "does not exist");
  EXPECT_SAYS(read_refusal(folder_), "folder");
  EXPECT_SAYS(refusal([&] { read_tables({folder_, {}, {}}); }, folder_.string()), "folder");
}

TEST_F(Tables, LabelsArePlacedByIdAndNamed) {
  Dataset dataset =
      tables("0,1\n1,2\n2,3\n", "", "id,name,page_type\n2,\"a, b\",tv\n0,x,gov\n1,y,tv\n");
  EXPECT_EQ(dataset.class_names, (std::vector<std::string>{"gov", "tv"}));
  Dataset quoted = tables("0,1\n1,2\n", "", "id,kind\n0,\"a \"\"big\"\" one\"\n1,b\n2,b\n");
  EXPECT_EQ(quoted.class_names, (std::vector<std::string>{"a \"big\" one", "b"}));
  EXPECT_EQ(dataset.labels.classes[0], 0);
  EXPECT_EQ(dataset.labels.classes[2], 1);
  EXPECT_EQ(dataset.labels.classes[3], -1);  // no row names it
  EXPECT_EQ(tables("0,1\n", "", "id,a,b\n0,1,0\n1,0,0\n", "a").labels.classes[0], 1);
  EXPECT_EQ(tables("0,1\n", "", "id,a,b\n0,1,0\n1,0,0\n", "2").labels.classes[0], 1);
  EXPECT_EQ(tables("0,1\n", "", "1\n0\n").labels.classes[0], 1);
  Dataset targets = tables("0,1\n", "", "id,y\n0,0.5\n1,\n");
  EXPECT_EQ(targets.labels.task, Task::regression);
  EXPECT_TRUE(std::isnan(targets.labels.values[1]));
}

TEST_F(Tables, BadLabelsAreRefused) {
  EXPECT_SAYS(refused("0,1\n", "", "id,a\n0,1\n", "b"), "no column 'b'; it has: id, a");
  EXPECT_SAYS(refused("0,1\n", "", "id,a\n0,1\n0,1\n"), "line 3: node '0' comes a second time");
  EXPECT_SAYS(refused("0,1\n", "", "id,a\n0,1,2\n"), "line 2: 3 fields, expected 2");
  EXPECT_SAYS(refused("0,1\n1,5\n", "", "1\n0\n"), "names node 5");
  EXPECT_SAYS(refused("0,1\n", "", "id,a\n-4,1\n"), "line 2: the node id '-4'");
  EXPECT_SAYS(refused("0,1\n", "", "id,a\n0,\n"), "no node has a label");
}

TEST_F(Tables, FeaturesComeAsRowsOrAsLists) {
  Dataset rows = tables("0,1\n", "1.5,2\n-3e2,4\n", "");
  EXPECT_EQ(std::get<DenseFeatures>(rows.features).view()(1, 0), -300.0F);
  Dataset by_id = tables("0,1\n", "id,x,y\n1,1,2\n0,3,4\n", "");
  EXPECT_EQ(std::get<DenseFeatures>(by_id.features).view()(0, 1), 4.0F);
  Dataset lists = tables("0,1\n1,2\n", R"({"2": [99, 3, 99], "0": [5]})", "");
  const auto& features = std::get<SparseMatrix>(lists.features);
  EXPECT_EQ(features.cols, 100U);
  EXPECT_EQ(features.nonzeros(), 3U);
  EXPECT_EQ(features.offsets[2], 1U);
  EXPECT_EQ(features.columns[2], 99U);
}

TEST_F(Tables, BadFeaturesAreRefused) {
  EXPECT_SAYS(refused("0,1\n", "1,2\n3,1e99\n", ""), "line 2: '1e99'");
  EXPECT_SAYS(refused("0,1\n", "1,2\n3,inf\n", ""), "line 2: 'inf'");
  EXPECT_SAYS(refused("0,1\n", "1,2\n3\n", ""), "line 2: 1 fields");
  EXPECT_SAYS(refused("0,2\n", "1,2\n3,4\n", ""), "names node 2");
  EXPECT_SAYS(refused("0,1\n", "id,x\n0,1\n0,2\n", ""), "second time");
  EXPECT_SAYS(refused("0,1\n", R"({"0": [1], "0": [2]})", ""), "'0' comes a second time");
  EXPECT_SAYS(refused("0,1\n", R"({"0": [-1]})", ""), "node '0' are not ids");
  EXPECT_SAYS(refused("0,1\n", R"({"0": [99999999999]})", ""), "node '0' are not ids");
  EXPECT_SAYS(refused("0,1\n", R"({"0": 3})", ""), "not a list");
  EXPECT_SAYS(refused("0,1\n", R"({"x": [3]})", ""), "node id 'x'");
  EXPECT_SAYS(refused("0,1\n", R"({"0": [3)", ""), "not whole JSON");
  EXPECT_SAYS(refused("ann,bob\n", "1,2\n3,4\n", ""), "no column called id");
}

TEST_F(Tables, AFolderOfTablesIsADataSet) {
  write("g/x_edges.csv", "id_1,id_2\n0,1\n1,2\n");
  write("g/x.json", R"({"0": [0], "1": [1], "2": [70]})");
  write("g/x_target.csv", "id,kind\n0,a\n1,b\n2,a\n");
  write("g/README.txt", "about");
  Dataset dataset = read_dataset(folder_ / "g");
  EXPECT_EQ(dataset.name, "g");
  EXPECT_EQ(dataset.labels.outputs, 2U);
  EXPECT_EQ(feature_count(dataset.features), 71U);
  write("g/y_edges.csv", "0,1\n");
  EXPECT_SAYS(read_refusal(folder_ / "g"), "both look like the edge list");
}

TEST(CsvNumbers, WholeFieldsOnly) {
  int64_t whole = 0;
  float real = 0;
  EXPECT_TRUE(parse_number(" 42 ", whole));
  EXPECT_EQ(whole, 42);
  EXPECT_TRUE(parse_number("+3", whole));
  EXPECT_FALSE(parse_number("4 2", whole));
  EXPECT_FALSE(parse_number("+-4", whole));
  EXPECT_FALSE(parse_number("", whole));
  EXPECT_TRUE(parse_number("1e-3", real));
  EXPECT_FALSE(parse_number("1e-3x", real));
}

}  // namespace
}  // namespace spex
