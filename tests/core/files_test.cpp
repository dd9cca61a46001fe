#include <gtest/gtest.h>
#include <spex/core/error.h>
#include <spex/core/files.h>
#include <unistd.h>

#include <filesystem>

namespace spex {
namespace {

namespace fs = std::filesystem;

class Files : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("spex_files_" + std::to_string(::getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path folder_;
};

TEST_F(Files, WhatIsWrittenIsRead) {
  std::string text(3 << 20, 'x');
  text += "end";
  write_text(folder_ / "a", text);
  EXPECT_EQ(read_text(folder_ / "a"), text);
  write_text(folder_ / "empty", "");
  EXPECT_EQ(read_text(folder_ / "empty"), "");
}

TEST_F(Files, AFailedWriteLeavesTheOldFileAndNothingElse) {
  write_text(folder_ / "a", "old");
  EXPECT_THROW(write_atomically(folder_ / "a",
                                [](std::ostream& out) {
                                  out << "new";
                                  fail("the producer gave up");
                                }),
               Error);
  EXPECT_EQ(read_text(folder_ / "a"), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
}

TEST_F(Files, AFullDiskIsASentence) {
  if (!fs::exists("/dev/full")) GTEST_SKIP();
  fs::create_symlink("/dev/full", folder_ / "a.partial");
  try {
    write_text(folder_ / "a", "text");
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("No space left"), std::string::npos) << error.what();
  }
  EXPECT_FALSE(fs::exists(folder_ / "a"));
}

TEST_F(Files, MissingFilesAndFoldersAreNamed) {
  try {
    MappedFile::open(folder_ / "nothing");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("nothing"), std::string::npos);
  }
  EXPECT_THROW(MappedFile::open(folder_), Error);
}

}  // namespace
}  // namespace spex
