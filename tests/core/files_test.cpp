#include <gtest/gtest.h>
#include <spex/core/error.h>
#include <spex/core/files.h>
#include <spex/core/memory.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <span>
#include <thread>

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

TEST_F(Files, PagesGivenBackLeaveTheProcessAndAreReadAgain) {
  std::string text(8 << 20, 'x');
  write_text(folder_ / "a", text);
  auto file = MappedFile::open(folder_ / "a");
  auto sum = [&] {
    size_t total = 0;
    for (std::byte byte : file->bytes()) total += static_cast<size_t>(byte);
    return total;
  };
  size_t first = sum(), touched = resident_memory().file_backed;
  give_back_pages(file->bytes());
  EXPECT_LT(resident_memory().file_backed + (7 << 20), touched);
  EXPECT_EQ(sum(), first);
  give_back_pages(std::as_bytes(std::span(text)));  // no file's
  EXPECT_EQ(text, std::string(8 << 20, 'x'));
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

TEST_F(Files, LinksAreFollowedAndStayLinks) {
  write_text(folder_ / "file", "old");
  fs::create_symlink("file", folder_ / "link");
  fs::create_symlink("link", folder_ / "linked_link");
  fs::create_symlink("not_yet", folder_ / "dangling");
  write_text(folder_ / "linked_link", "new");
  write_text(folder_ / "dangling", "made");
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_TRUE(fs::is_symlink(folder_ / "linked_link"));
  EXPECT_EQ(read_text(folder_ / "file"), "new");
  EXPECT_EQ(read_text(folder_ / "not_yet"), "made");
}

TEST_F(Files, AReplacedFileKeepsItsMode) {
  write_text(folder_ / "file", "old");
  for (fs::perms mode : {fs::perms(0600), fs::perms(0664), fs::perms(0755)}) {
    fs::permissions(folder_ / "file", mode);
    write_text(folder_ / "file", "new");
    EXPECT_EQ(fs::status(folder_ / "file").permissions(), mode);
  }
}

TEST_F(Files, PipesAndDevicesAreWrittenToAndNotReplaced) {
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  std::string got;
  std::thread reader([&] {
    std::ifstream pipe(folder_ / "pipe");
    std::getline(pipe, got);
  });
  write_text(folder_ / "pipe", "through\n");
  reader.join();
  EXPECT_EQ(got, "through");
  EXPECT_TRUE(fs::is_fifo(folder_ / "pipe"));
  write_text("/dev/null", "gone");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_THROW(write_text("/dev/full", "text"), Error);
  EXPECT_THROW(write_text(folder_, "text"), Error);
}

// As /dev/stdout is, where a pipe follows the program.
TEST_F(Files, LinksThatLeadToNoNameAreWrittenThrough) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  write_text("/proc/self/fd/" + std::to_string(ends[1]), "text");
  char read[8] = {};
  EXPECT_EQ(::read(ends[0], read, sizeof read), 4);
  EXPECT_STREQ(read, "text");
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(Files, TextIsAppendedBehindWhatIsThere) {
  append_text(folder_ / "log", "one\n");
  append_text(folder_ / "log", "two\n");
  EXPECT_EQ(read_text(folder_ / "log"), "one\ntwo\n");
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
