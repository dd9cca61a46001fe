// Tables that can be read in two ways: the right one, or a word about it, or a refusal.
#include <spex/data/native.h>

#include "strangers.h"

namespace spex {
namespace {

using namespace test;
class Doubts : public Strangers {
 protected:
  // A ring of ten nodes.
  static std::string ring(const std::string& header = "from,to\n") {
    std::string text = header;
    for (int i = 0; i < 10; ++i) text += fmt::format("{},{}\n", i, (i + 1) % 10);
    return text;
  }
  Dataset edges(std::string_view text, ReadOptions options = {}) {
    return tables(text, "", "", options);
  }
  std::string edges_refused(std::string_view text) { return refused(text, "", ""); }
};

TEST_F(Doubts, WordsOfAHeaderMayBeNodes) {
  EXPECT_EQ(edges("u v\nv w\nw x\n").nodes(), 4U);
  EXPECT_EQ(edges("u v\na b\nb c\n").nodes(), 3U);
  EXPECT_SAYS(said_, "edges go from 'u' to 'v'");
  EXPECT_EQ(edges("person_1,person_2\nann,bob\nbob,cy\n").nodes(), 3U);
  EXPECT_EQ(edges("p_1,p_2\np_2,p_3\np_3,p_1\n").nodes(), 3U);
  EXPECT_EQ(edges("Kunde,Freund\nann,bob\nbob,cy\n").nodes(), 5U);
  EXPECT_SAYS(said_, "warning: ");
  EXPECT_SAYS(said_, "if it is a header, take it out");
  edges("ann,bob\nbob,cy\ncy,ann\n");
  EXPECT_EQ(said_.find("header"), std::string::npos) << said_;
}

TEST_F(Doubts, CommentsAreNoRowsAndHashtagsNoComments) {
  EXPECT_EQ(edges("#a,#b\n#b,#c\nd,#a\n").nodes(), 4U);
  EXPECT_EQ(edges("#source,target\n0,1\n1,2\n").nodes(), 3U);
  EXPECT_EQ(edges("sep=;\r\nsource;target\r\n0;1\r\n1;2\r\n").nodes(), 3U);
  EXPECT_SAYS(edges_refused("a b\nb c\n# comment\nc d\n"), "line 3: seems to be a comment");
  EXPECT_SAYS(edges_refused("0 1 # one\n1 2 # two\n"), "line 1: seems to have a comment");
  EXPECT_SAYS(edges_refused("a,b\rb,c\rc,d\n"), "line 1: a line end of another kind");
}

TEST_F(Doubts, OddIdsAreSaid) {
  EXPECT_EQ(edges("007,8\n8,7\n").nodes(), 2U);
  EXPECT_SAYS(said_, "zeros before them do not count");
  edges("source,target\nann,bob\nNA,bob\ncy,NA\n");
  EXPECT_SAYS(said_, "warning: ");
  EXPECT_SAYS(said_, "a node called NA");
  EXPECT_SAYS(edges_refused("12,A1\nA1,13\n"), "if ids are names, let the first row have one");
}

TEST_F(Doubts, AMatrixOrListOfNeighboursIsNoEdgeList) {
  EXPECT_SAYS(edges_refused("0,1,0,1\n1,0,1,0\n0,1,0,1\n1,0,1,0\n"), "seem to be a matrix");
  EXPECT_SAYS(edges_refused(",a,b,c\na,0,1,0\nb,1,0,1\nc,0,1,0\n"), "seem to be a matrix");
  EXPECT_SAYS(edges_refused("0 1 2\n1 2 3\n2 3 0\n3 0 1\n"), "first column counts the rows");
  EXPECT_EQ(edges("0 1 0.5\n1 2 0.25\n2 3 4\n3 0 1\n").nodes(), 4U);
  ReadOptions told;
  told.source_column = "2";
  told.target_column = "3";
  EXPECT_EQ(edges("0,5,7\n1,7,8\n2,8,5\n", told).nodes(), 3U);
  EXPECT_SAYS(edges_refused("4 4 3\n1 2 1\n2 3 1\n4 3 1\n"), "numbers of nodes and edges");
}

TEST_F(Doubts, TheIdOfAnEdgeSaysNothingAboutIt) {
  Dataset gephi = edges("Source,Target,Id,Weight\n0,1,0,1.5\n1,2,1,2.5\n2,3,2,0.5\n");
  EXPECT_EQ(gephi.edge_feature_count, 1U);
  EXPECT_SAYS(said_, "'Id' is the edges' own id");
}

TEST_F(Doubts, ACommaOfThousandsIsNoDecimalComma) {
  const char* doubt = "may separate thousands or decimals";
  EXPECT_SAYS(edges_refused("source;target;w\n0;1;1,234\n1;2;12,500\n"), doubt);
  EXPECT_SAYS(edges_refused("source,target,w\n0,1,\"1,234\"\n1,2,950\n"), doubt);
  EXPECT_EQ(edges("source;target;w\n0;1;1,234\n1;2;12,5\n").edge_features[0], 1.234F);
  EXPECT_EQ(edges("source;target;w\n0;1;0,234\n1;2;1,125\n").edge_features[0], 0.234F);
  std::string features = "id;income\n", labels = "id,price\n";
  for (int i = 0; i < 10; ++i) {
    features += fmt::format("{};{},250\n", i, 1 + i % 3);
    labels += fmt::format("{},\"{},250\"\n", i, 1 + i % 3);
  }
  EXPECT_SAYS(refused(ring(), features, ""), "'1,250' of the column 'income'");
  EXPECT_SAYS(refused(ring(), "", labels), "'1,250' of the column 'price'");
}

TEST_F(Doubts, CodesAreClassesByTheirDigits) {
  std::string labels = "id,industry\n", zeros = "id,kind\n";
  for (int i = 0; i < 10; ++i) {
    labels += fmt::format("{},{}\n", i, 541511000 + i % 3);
    zeros += fmt::format("{},{}\n", i, std::vector{"007", "7", "08"}[i % 3]);
  }
  EXPECT_EQ(tables(ring(), "", labels).class_names,
            (std::vector<std::string>{"541511000", "541511001", "541511002"}));
  EXPECT_EQ(tables(ring(), "", zeros).class_names, (std::vector<std::string>{"007", "08", "7"}));
  EXPECT_EQ(tables("0,1\n", "", "id,y\n0,12345678901234567\n1,12345678901234568\n").labels.outputs,
            2U);
}

TEST_F(Doubts, DatesAndFreeTextAreNoClasses) {
  std::string edges, text = "id,about\n", dates = "id,joined\n";
  for (int i = 0; i < 50; ++i) {
    edges += fmt::format("{},{}\n", i, (i + 1) % 50);
    text += fmt::format("{},text {}\n", i, i);
    dates += fmt::format("{},2024-01-{:02}\n", i, 1 + i % 4);
  }
  EXPECT_SAYS(refused(edges, "", text), "50 different texts for 50 nodes are no classes");
  EXPECT_SAYS(refused(edges, "", dates), "'joined' holds dates");
  ReadOptions classes;
  classes.task = LabelTask::classes;
  EXPECT_EQ(tables(edges, "", dates, classes).labels.outputs, 4U);
}

TEST_F(Doubts, NumbersBesideTextAreClassesOnlyIfTheyComeAgain) {
  std::string mixed = "id,y\n", classes = "id,class\n", infinite = "id,y\n";
  for (int i = 0; i < 10; ++i) {
    mixed += i == 3 ? "3,many\n" : fmt::format("{},{}.5\n", i, i);
    infinite += i == 3 ? "3,inf\n" : fmt::format("{},{}.5\n", i, i);
    classes += fmt::format("{},{}\n", i, std::vector{"1", "2", "unknown"}[i % 3]);
  }
  EXPECT_SAYS(refused(ring(), "", mixed), "'y' holds numbers and text");
  EXPECT_SAYS(refused(ring(), "", infinite), "not a finite number");
  EXPECT_EQ(tables(ring(), "", classes).labels.outputs, 3U);
  EXPECT_SAYS(said_, "'unknown' is a class");
  std::string gephi = "Id,Label,modularity_class\n";
  for (int i = 0; i < 10; ++i) gephi += fmt::format("{},n{},{}\n", i, i, i % 3);
  EXPECT_EQ(tables(ring(), "", gephi).labels.outputs, 3U);
}

TEST_F(Doubts, TheIdsAreTheColumnThatCanBe) {
  std::string last, both = "id,mature,new_id\n", other = "id,y,place\n";
  for (int i = 0; i < 10; ++i) {
    int node = i * 7 % 10;
    last += fmt::format("{},{}\n", node % 3, node);
    both += fmt::format("{},{},{}\n", i, node % 3, node);
    if (i < 6) other += fmt::format("{},{},{}\n", 100 + i, node % 3, node);
  }
  for (const std::string& labels : {last, both, other}) {
    Dataset dataset = tables(ring(), "", labels);
    ASSERT_EQ(dataset.nodes(), 10U) << labels;
    for (int32_t node = 0; node < 10; ++node) {
      int32_t label = dataset.labels.classes[static_cast<size_t>(node)];
      EXPECT_TRUE(label == node % 3 || (label < 0 && labels == other)) << labels;
    }
  }
  tables(ring(), "", both);
  EXPECT_SAYS(said_, "'new_id', but id could be meant");
}

TEST_F(Doubts, TheLabelIsNoFeatureInAnotherFileEither) {
  std::string features = "id,age,label\n", labels = "id,label\n";
  for (int i = 0; i < 10; ++i) {
    features += fmt::format("{},{},{}\n", i, i * 3, i % 2);
    labels += fmt::format("{},{}\n", i, i % 2);
  }
  EXPECT_EQ(feature_count(tables(ring(), features, labels).features), 1U);
  EXPECT_SAYS(said_, "'label' is the label and left out");
}

TEST_F(Doubts, TablesThatSeemOneOffAreSaid) {
  std::string rows = "label\n", lists = "{", edges;
  for (int i = 0; i < 10; ++i) {
    edges += fmt::format("{},{}\n", i + 1, (i + 1) % 10 + 1);
    lists += fmt::format("{}\"{}\": [{}, 3]", i ? ", " : "", i, 4 + i);
  }
  for (int i = 0; i < 11; ++i) rows += fmt::format("{}\n", i % 2);
  tables(edges, "", rows);
  EXPECT_SAYS(said_, "if the edges count from 1");
  tables(edges, lists + "}", "");
  EXPECT_SAYS(said_, "seem to be one off");
}

TEST_F(Doubts, NodesWithoutEdgesOrFeaturesAreCounted) {
  tables("0,1\n1,2\n", "id,a\n0,1\n1,2\n3,4\n", "");
  EXPECT_SAYS(said_, "warning: ");
  EXPECT_SAYS(said_, "1 of 3 rows have no edge");
  EXPECT_SAYS(said_, "1 nodes have no row");
}

TEST_F(Doubts, FilesAndOptionsThatAreNotUsedAreSaid) {
  write("g/edges.csv", ring());
  write("g/._edges.csv", "what a file system adds");
  write("g/attributes.csv", "id,age\n0,1\n");
  EXPECT_EQ(read_dataset(folder_ / "g").nodes(), 10U);
  EXPECT_SAYS(said_, "do not say what they are: attributes.csv");
  save_native(read_dataset(folder_ / "g"), folder_ / "d.safetensors");
  ReadOptions column, directed;
  column.weight_column = "w";
  directed.undirected = false;
  EXPECT_SAYS(read_refusal(folder_ / "d.safetensors", column), "nothing that --weight-column");
  EXPECT_SAYS(read_refusal(folder_ / "d.safetensors", directed), "was cleaned when it was written");
}

TEST_F(Doubts, ListsOfJsonAreIdsOrRows) {
  std::string flags = "{", reals = "{", ids = "{";
  for (int i = 0; i < 10; ++i) {
    const char* comma = i ? ", " : "";
    flags += fmt::format("{}\"{}\": [0, {}, 1, 0]", comma, i, i % 2);
    reals += fmt::format("{}\"{}\": [0.5, {}]", comma, i, -i);
    ids += fmt::format("{}\"{}\": [{}, {}]", comma, i, i, i + 5);
  }
  Dataset rows = tables(ring(), flags + "}", "");
  ASSERT_EQ(feature_count(rows.features), 4U);
  EXPECT_EQ(dense(rows)(3, 1), 1.0F);
  EXPECT_SAYS(said_, "rows of numbers");
  EXPECT_EQ(dense(tables(ring(), reals + "}", ""))(3, 1), -3.0F);
  EXPECT_EQ(feature_count(tables(ring(), ids + "}", "").features), 15U);
}

TEST_F(Doubts, WhatIsNoTableIsRefusedInEveryPlace) {
  for (const char* text :
       {"graph\n[\n directed 0\n]\n", "# made\ngraph [\n]\n", "// c\ngraph \"G\" {\n a -- b\n}\n",
        "%c\n*Vertices 3\n1 \"a\"\n", "<graphml/>", ">>graph6<<DQc\n"})
    EXPECT_SAYS(edges_refused(text), "save the edges as a table");
  EXPECT_SAYS(edges_refused("version https://git-lfs.github.com/spec/v1\noid sha256:4d\nsize 1\n"),
              "git lfs pull");
  EXPECT_SAYS(edges_refused("BZh91AY&SY123"), "packed with bzip2");
  EXPECT_SAYS(refused(ring(), "", "PK\3\4 and so on"), "l.csv is no table");
  EXPECT_EQ(edges("graph theory\ntheory proof\nproof graph\n").nodes(), 3U);
}

}  // namespace
}  // namespace spex
