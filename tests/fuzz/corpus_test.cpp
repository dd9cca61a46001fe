// The fuzzers' corpus without the fuzzers: seeds, and every input that once found a bug.
#include <gtest/gtest.h>
#include <spex/core/files.h>

#include <filesystem>

#include "fuzz/entries.h"

namespace spex {
namespace {

namespace fs = std::filesystem;

void replay(const char* name, void (*entry)(fuzz::Bytes)) {
  fs::path folder = fs::path(SPEX_SOURCE_DIR) / "tests/fuzz/corpus" / name;
  size_t files = 0;
  for (const auto& file : fs::directory_iterator(folder)) {
    SCOPED_TRACE(file.path().string());
    std::string text = read_text(file.path());
    EXPECT_NO_THROW(entry(std::as_bytes(std::span(text))));
    // Every prefix is a truncated file.
    for (size_t cut = 0; cut < text.size(); cut += 1 + text.size() / 64)
      EXPECT_NO_THROW(entry(std::as_bytes(std::span(text.data(), cut)))) << "cut at " << cut;
    ++files;
  }
  EXPECT_GT(files, 0U);
}

TEST(FuzzCorpus, NpyHoldsNoSurprise) {
  replay("npy", fuzz::npy);
}
TEST(FuzzCorpus, NpzHoldsNoSurprise) {
  replay("npz", fuzz::npz);
}
TEST(FuzzCorpus, SafetensorsHoldsNoSurprise) {
  replay("safetensors", fuzz::safetensors);
}
TEST(FuzzCorpus, CsvHoldsNoSurprise) {
  replay("csv", fuzz::csv);
}
TEST(FuzzCorpus, MtxHoldsNoSurprise) {
  replay("mtx", fuzz::mtx);
}
TEST(FuzzCorpus, TablesHoldNoSurprise) {
  replay("tables", fuzz::tables);
}
TEST(FuzzCorpus, JsonHoldsNoSurprise) {
  replay("json", fuzz::json);
}
TEST(FuzzCorpus, MatHoldsNoSurprise) {
  replay("mat", fuzz::mat);
}

}  // namespace
}  // namespace spex
