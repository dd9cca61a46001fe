// Tables as strangers have them, and what is said about them.
#pragma once

#include <spex/core/log.h>

#include "support.h"

namespace spex::test {

class Strangers : public Folder {
 protected:
  void SetUp() override {
    Folder::SetUp();
    set_log_sink([this](std::string_view line) { said_ += std::string(line) + "\n"; });
  }
  void TearDown() override {
    set_log_sink({});
    Folder::TearDown();
  }
  Dataset tables(std::string_view e, std::string_view f, std::string_view l,
                 ReadOptions options = {}) {
    TableFiles files{write("e.csv", e), {}, {}};
    if (!f.empty()) files.features = write("f.csv", f);
    if (!l.empty()) files.labels = write("l.csv", l);
    said_.clear();
    return read_tables(files, options);
  }
  std::string refused(std::string_view e, std::string_view f, std::string_view l,
                      ReadOptions options = {}) {
    return refusal([&] { tables(e, f, l, options); }, folder_.string());
  }
  static ConstMatrixView dense(const Dataset& dataset) {
    return std::get<DenseFeatures>(dataset.features).view();
  }
  std::string said_;
};

}  // namespace spex::test
