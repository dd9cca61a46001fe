#include "data/formats/foreign.h"

#include <spex/core/error.h>

#include <algorithm>
#include <array>
#include <string>

#include "data/formats/fields.h"

namespace spex {
namespace {

struct Foreign {
  std::string_view start;  // in lower case
  const char* what;
  const char* cure;
};

constexpr const char* kAsTable =
    "save the edges as a table of two columns (in networkx: write_edgelist(graph, path, "
    "data=False)), and features and labels as tables beside it";
constexpr const char* kUnpack = "unpack it, or pack it with gzip";

constexpr std::array kForeign = {
    Foreign{"<", "XML or HTML, such as GraphML or GEXF", kAsTable},
    Foreign{"graph [", "GML", kAsTable},
    Foreign{"creator \"", "GML", kAsTable},
    Foreign{"*vertices", "a Pajek graph", kAsTable},
    Foreign{"*network", "a Pajek graph", kAsTable},
    Foreign{"dl n", "a UCINET graph", kAsTable},
    Foreign{">>graph6<<", "graph6", kAsTable},
    Foreign{">>sparse6<<", "sparse6", kAsTable},
    Foreign{"par1", "a Parquet table", kAsTable},
    Foreign{"arrow1", "an Arrow table", kAsTable},
    Foreign{"sqlite format", "an SQLite database", kAsTable},
    Foreign{"\x80\x02", "a Python pickle", kAsTable},
    Foreign{"\x80\x03", "a Python pickle", kAsTable},
    Foreign{"\x80\x04", "a Python pickle", kAsTable},
    Foreign{"\x80\x05", "a Python pickle", kAsTable},
    Foreign{"version https://git-lfs", "a pointer of Git LFS", "fetch the file with git lfs pull"},
    Foreign{"bzh91ay", "packed with bzip2", kUnpack},
    Foreign{"\xfd"
            "7zxz",
            "packed with xz", kUnpack},
    Foreign{"\x28\xb5\x2f\xfd", "packed with zstd", kUnpack},
    Foreign{"7z\xbc\xaf", "a 7z archive", kUnpack},
    Foreign{"rar!", "a RAR archive", kUnpack},
};

// Names of formats that are not text.
constexpr std::array kBinaryNames = {".npz", ".npy", ".mat",  ".safetensors", ".pt",
                                     ".pkl", ".h5",  ".xlsx", ".parquet",     ".pth"};

// What comes after comments, in lower case and with single blanks for all space.
std::string start_of_content(std::string_view text) {
  for (;;) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    if (!text.starts_with('#') && !text.starts_with('%') && !text.starts_with("//")) break;
    text.remove_prefix(std::min(text.find_first_of("\r\n"), text.size()));
  }
  std::string content;
  for (char c : lower_case(text)) {
    bool space = c == ' ' || c == '\t' || c == '\r' || c == '\n';
    if (!space || !content.ends_with(' ')) content += space ? ' ' : c;
  }
  return content;
}

// "graph {", "digraph NAME {", "strict graph NAME {"
bool is_graphviz(std::string_view text) {
  if (text.starts_with("strict ")) text.remove_prefix(7);
  if (!text.starts_with("graph ") && !text.starts_with("digraph ")) return false;
  size_t open = text.find('{');
  return open != std::string_view::npos &&
         std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(open), ' ') <= 2;
}

}  // namespace

void refuse_foreign(const std::filesystem::path& path, std::string_view start) {
  std::string content = start_of_content(start);
  for (const Foreign& foreign : kForeign)
    require(!content.starts_with(foreign.start), "{} is {}, which is not read; {}", path.string(),
            foreign.what, foreign.cure);
  require(!is_graphviz(content), "{} is a Graphviz graph, which is not read; {}", path.string(),
          kAsTable);
  std::string ending = lower_case(path.extension().string());
  require(std::find(kBinaryNames.begin(), kBinaryNames.end(), ending) == kBinaryNames.end(),
          "{} does not hold what its name says; call it .csv if it is a table", path.string());
}

}  // namespace spex
