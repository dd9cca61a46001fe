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
};

constexpr std::array kForeign = {
    Foreign{"<", "XML or HTML, such as GraphML or GEXF"},
    Foreign{"graph [", "GML"},
    Foreign{"creator \"", "GML"},
    Foreign{"graph {", "a Graphviz graph"},
    Foreign{"digraph", "a Graphviz graph"},
    Foreign{"strict ", "a Graphviz graph"},
    Foreign{"*vertices", "a Pajek graph"},
    Foreign{"*network", "a Pajek graph"},
    Foreign{"dl n", "a UCINET graph"},
    Foreign{"par1", "a Parquet table"},
    Foreign{"sqlite format", "an SQLite database"},
    Foreign{"\x80\x02", "a Python pickle"},
    Foreign{"\x80\x03", "a Python pickle"},
    Foreign{"\x80\x04", "a Python pickle"},
    Foreign{"\x80\x05", "a Python pickle"},
};

// Names of formats that are not text.
constexpr std::array kBinaryNames = {".npz", ".npy", ".mat",  ".safetensors", ".pt",
                                     ".pkl", ".h5",  ".xlsx", ".parquet",     ".pth"};

}  // namespace

void refuse_foreign(const std::filesystem::path& path, std::string_view start) {
  size_t first = start.find_first_not_of(" \t\r\n");
  std::string text = lower_case(start.substr(std::min(first, start.size())));
  for (const Foreign& foreign : kForeign)
    require(!text.starts_with(foreign.start),
            "{} is {}, which is not read; save the edges as a table of two columns (in networkx: "
            "write_edgelist(graph, path, data=False)), and features and labels as tables beside it",
            path.string(), foreign.what);
  std::string ending = lower_case(path.extension().string());
  require(std::find(kBinaryNames.begin(), kBinaryNames.end(), ending) == kBinaryNames.end(),
          "{} does not hold what its name says; call it .csv if it is a table", path.string());
}

}  // namespace spex
