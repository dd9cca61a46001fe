#include <matio.h>

#include "data/formats/mat_check.h"
#include "support.h"

namespace spex {
namespace {

using namespace test;

class MatReader : public Folder, public testing::WithParamInterface<matio_compression> {
 protected:
  std::filesystem::path path() const { return folder_ / "x.mat"; }
  void open() {
    file_ = Mat_CreateVer(path().c_str(), "MATLAB 5.0 MAT-file, by a test", MAT_FT_MAT5);
    ASSERT_NE(file_, nullptr);
  }
  void close() { Mat_Close(file_); }
  void dense(const char* name, size_t rows, size_t cols, std::vector<double> values,
             int flags = 0) {
    size_t dims[2] = {rows, cols};
    mat_complex_split_t complex{values.data(), values.data()};
    void* data = flags & MAT_F_COMPLEX ? static_cast<void*>(&complex) : values.data();
    put(Mat_VarCreate(name, MAT_C_DOUBLE, MAT_T_DOUBLE, 2, dims, data, flags));
  }
  void integers(const char* name, size_t rows, size_t cols, std::vector<int64_t> values) {
    size_t dims[2] = {rows, cols};
    put(Mat_VarCreate(name, MAT_C_INT64, MAT_T_INT64, 2, dims, values.data(), 0));
  }
  void sparse(const char* name, size_t rows, size_t cols, std::vector<mat_uint32_t> ir,
              std::vector<mat_uint32_t> jc) {
    std::vector<double> ones(ir.size(), 1.0);
    mat_sparse_t matrix{};
    matrix.nzmax = matrix.nir = matrix.ndata = static_cast<mat_uint32_t>(ir.size());
    matrix.ir = ir.data();
    matrix.jc = jc.data();
    matrix.njc = static_cast<mat_uint32_t>(jc.size());
    matrix.data = ones.data();
    size_t dims[2] = {rows, cols};
    put(Mat_VarCreate(name, MAT_C_SPARSE, MAT_T_DOUBLE, 2, dims, &matrix, MAT_F_DONT_COPY_DATA));
  }
  void text(const char* name) {
    size_t dims[2] = {1, 3};
    put(Mat_VarCreate(name, MAT_C_CHAR, MAT_T_UINT8, 2, dims, const_cast<char*>("abc"), 0));
  }
  // A Pokec file of three nodes, with what the arguments say.
  void pokec(const std::vector<int64_t>& edges, const std::vector<double>& label,
             const std::vector<double>& features) {
    open();
    integers("edge_index", 2, edges.size() / 2, edges);
    dense("label", 1, label.size(), label);
    dense("node_feat", features.size() / 2, 2, features);
    close();
  }
  std::string refused() const { return read_refusal(path()); }

 private:
  void put(matvar_t* variable) {
    ASSERT_NE(variable, nullptr);
    ASSERT_EQ(Mat_VarWrite(file_, variable, GetParam()), 0);
    Mat_VarFree(variable);
  }
  mat_t* file_ = nullptr;
};

TEST_P(MatReader, ReadsPokec) {
  pokec({0, 1, 1, 2}, {0, 1, -1}, {1, 2, 3, 4, 5, 6});
  Dataset dataset = read_dataset(path());
  EXPECT_EQ(row(dataset, 1), (std::vector<NodeId>{0, 2}));
  EXPECT_EQ(std::get<DenseFeatures>(dataset.features).view()(1, 1), 5.0F);  // column by column
  EXPECT_EQ(dataset.labels.classes[2], -1);
}

TEST_P(MatReader, ReadsFacebook100) {
  open();
  sparse("A", 3, 3, {1, 0, 2, 1}, {0, 1, 3, 4});
  dense("local_info", 3, 7, {1, 1, 2, /*gender*/ 1, 2,    0,    /*major*/ 5, 6, 5, 0, 0, 0,
                             9, 9, 9, 2004,         2005, 2004, 1,           2, 3});
  close();
  Dataset dataset = read_dataset(path());
  EXPECT_EQ(dataset.graph.edges(), 4U);
  EXPECT_EQ(dataset.labels.classes[0], 0);
  EXPECT_EQ(dataset.labels.classes[1], 1);
  EXPECT_EQ(dataset.labels.classes[2], -1);
  // Status 2 values, major 2, second major 1, house 1, year 2, school 3.
  EXPECT_EQ(feature_count(dataset.features), 11U);
  auto features = std::get<DenseFeatures>(dataset.features).view();
  EXPECT_EQ(features(0, 0), 1.0F);
  EXPECT_EQ(features(2, 1), 1.0F);
  EXPECT_EQ(features(1, 3), 1.0F);
}

TEST_P(MatReader, RejectsBadValues) {
  pokec({0, 1, 1, 3}, {0, 1, 1}, {1, 2, 3, 4, 5, 6});
  EXPECT_SAYS(refused(), "edge 1 names node 3");
  pokec({0, 1, 1, -3}, {0, 1, 1}, {1, 2, 3, 4, 5, 6});
  EXPECT_SAYS(refused(), "names node -3");
  pokec({0, 1}, {0, 1, 8}, {1, 2, 3, 4, 5, 6});
  EXPECT_SAYS(refused(), "node 2 is 8");
  pokec({0, 1}, {0, 1, 0.5}, {1, 2, 3, 4, 5, 6});
  EXPECT_SAYS(refused(), "entry 2 of 'label' is 0.5");
  pokec({0, 1}, {0, 1, NAN}, {1, 2, 3, 4, 5, 6});
  EXPECT_SAYS(refused(), "whole number");
  pokec({0, 1}, {0, 1}, {1, 2, 3, 4, 5, 6});
  EXPECT_SAYS(refused(), "2 labels for 3 nodes");
  pokec({0, 1}, {0, 1, 0}, {1, 2, 3, 4, INFINITY, 6});
  EXPECT_SAYS(refused(), "feature 1 of node 1 is inf");
}

TEST_P(MatReader, RejectsOtherShapesAndKinds) {
  open();
  dense("x", 1, 1, {1});
  close();
  EXPECT_SAYS(refused(), "but: x");
  open();
  text("A");
  close();
  EXPECT_SAYS(refused(), "'A'");
  open();
  sparse("A", 2, 3, {1}, {0, 1, 1, 1});
  close();
  EXPECT_SAYS(refused(), "expected square");
  open();
  sparse("A", 2, 2, {5}, {0, 1, 1});
  close();
  EXPECT_SAYS(refused(), "entry 0 is in row 5");
  open();
  sparse("A", 2, 2, {0, 1}, {0, 2, 1});
  close();
  EXPECT_SAYS(refused(), "fall at column 1");
  open();
  dense("A", 2, 2, {0, 1, 1, 0});
  close();
  EXPECT_SAYS(refused(), "not sparse");
  open();
  dense("edge_index", 2, 1, {0, 1}, MAT_F_COMPLEX);
  close();
  EXPECT_SAYS(refused(), "complex");
}

TEST_P(MatReader, RejectsTruncationAtEveryByte) {
  pokec({0, 1, 1, 2}, {0, 1, -1}, {1, 2, 3, 4, 5, 6});
  std::string whole = read_text(path());
  for (size_t cut = 0; cut < whole.size(); ++cut) {
    write("x.mat", whole.substr(0, cut));
    refused();
  }
}

TEST_P(MatReader, SurvivesAnyDamagedByte) {
  pokec({0, 1, 1, 2}, {0, 1, -1}, {1, 2, 3, 4, 5, 6});
  std::string whole = read_text(path());
  for (size_t at = 0; at < whole.size(); ++at)
    for (char flip : {'\x01', '\x80', '\xff'}) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ flip);
      write("x.mat", damaged);
      try {
        read_dataset(path());
      } catch (const Error&) {
      }
    }
}

TEST_P(MatReader, RejectsOtherVersions) {
  EXPECT_SAYS(read_refusal(write("y.mat", "MATLAB 7.3 MAT-file" + std::string(200, ' '))), "7.3");
  EXPECT_SAYS(read_refusal(write("y.mat", "\x89HDF\r\n" + std::string(200, ' '))), "HDF5");
  std::string big = "MATLAB 5.0" + std::string(118, ' ');
  big.replace(124, 4, std::string("\1\0MI", 4));
  EXPECT_SAYS(read_refusal(write("y.mat", big)), "byte order");
}

INSTANTIATE_TEST_SUITE_P(PlainAndPacked, MatReader,
                         testing::Values(MAT_COMPRESSION_NONE, MAT_COMPRESSION_ZLIB));

}  // namespace
}  // namespace spex
