// Files for the readers' tests, made on the spot: a temporary folder, npy, npz, gzip.
#pragma once

#include <gtest/gtest.h>
#include <spex/core/error.h>
#include <spex/core/files.h>
#include <spex/core/threads.h>
#include <spex/data/reader.h>
#include <unistd.h>
#include <zip.h>
#include <zlib.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace spex::test {

class Folder : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("spex_data_" + std::to_string(::getpid()) + "_" +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
    set_threads(1);  // the files are tiny: threads would only wait for each other
  }
  void TearDown() override {
    set_threads(0);
    std::filesystem::remove_all(folder_);
  }
  std::filesystem::path write(const std::string& name, std::string_view text) const {
    std::filesystem::create_directories((folder_ / name).parent_path());
    // Not write_text: thousands of files need no sync each.
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return folder_ / name;
  }
  std::filesystem::path folder_;
};

// The one sentence that `body` throws; it must name `file`.
inline std::string refusal(const std::function<void()>& body, const std::string& file = "") {
  try {
    body();
  } catch (const Error& error) {
    std::string message = error.what();
    EXPECT_NE(message.find(file), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    return message;
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

inline std::string read_refusal(const std::filesystem::path& path, ReadOptions options = {}) {
  return refusal([&] { read_dataset(path, options); }, path.string());
}

#define EXPECT_SAYS(message, part)                                        \
  do {                                                                    \
    std::string said = (message);                                         \
    EXPECT_NE(said.find(part), std::string::npos) << "it says: " << said; \
  } while (false)

inline std::string npy(const std::string& descr, const std::string& shape, std::string_view data,
                       const char* fortran = "False") {
  std::string header =
      "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': (" + shape + "), }";
  header.resize((header.size() + 11 + 63) / 64 * 64 - 10, ' ');
  header.back() = '\n';
  std::string text = "\x93NUMPY";
  text += '\1';
  text += '\0';
  text += static_cast<char>(header.size() & 255);
  text += static_cast<char>(header.size() >> 8);
  return text + header + std::string(data);
}

template <class T>
std::string raw(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

using Entries = std::map<std::string, std::string>;

inline void write_npz(const std::filesystem::path& path, const Entries& entries,
                      bool compressed = true) {
  int error = 0;
  zip_t* archive = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &error);
  ASSERT_NE(archive, nullptr);
  for (const auto& [name, bytes] : entries) {
    zip_source_t* source = zip_source_buffer(archive, bytes.data(), bytes.size(), 0);
    zip_int64_t index = zip_file_add(archive, (name + ".npy").c_str(), source, ZIP_FL_OVERWRITE);
    ASSERT_GE(index, 0);
    zip_set_file_compression(archive, static_cast<zip_uint64_t>(index),
                             compressed ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0);
  }
  ASSERT_EQ(zip_close(archive), 0);
}

inline void write_gzip(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  gzFile file = gzopen(path.c_str(), "wb");
  ASSERT_NE(file, nullptr);
  ASSERT_EQ(gzwrite(file, text.data(), static_cast<unsigned>(text.size())),
            static_cast<int>(text.size()));
  gzclose(file);
}

inline std::vector<NodeId> row(const Dataset& dataset, size_t node) {
  auto span = dataset.graph.row(node);
  return {span.begin(), span.end()};
}

}  // namespace spex::test
