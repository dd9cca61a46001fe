// Which files of a folder are the edges, the features and the labels.
#include <fmt/format.h>
#include <spex/core/error.h>
#include <spex/core/log.h>

#include <algorithm>

#include "data/formats/column_names.h"
#include "data/formats/csv.h"
#include "data/formats/formats.h"

namespace spex {
namespace {

namespace fs = std::filesystem;

bool contains(const std::string& text, std::initializer_list<const char*> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](const char* word) { return text.find(word) != std::string::npos; });
}

void set_once(fs::path& slot, const fs::path& found, const char* what) {
  require(slot.empty(),
          "{} and {} both look like {}; name one with --edges, --features or --labels",
          slot.string(), found.string(), what);
  slot = found;
}

bool is_table(const std::string& name) {
  if (contains(name, {"readme", "licen", "citing"})) return false;
  return contains(name, {".csv", ".tsv", ".txt", ".json", ".edge", ".mtx", ".tab", ".dat", ".cites",
                         ".content"});
}

// A header that names both ends of an edge. A file that is no table has none.
bool names_ends(const fs::path& path) try {
  CsvReader csv = CsvReader::open(path);
  return csv.has_header() && names_both_ends(csv.columns());
} catch (const Error&) {
  return false;
}

}  // namespace

TableFiles find_tables(const fs::path& folder) {
  TableFiles files;
  fs::path nodes;
  std::vector<fs::path> others;
  std::vector<std::string> unused;
  for (const auto& entry : fs::directory_iterator(folder)) {
    std::string name = lower_case(entry.path().filename().string());
    if (!entry.is_regular_file() || name.starts_with('.') || !is_table(name)) continue;
    if (contains(name, {"edge", ".mtx", ".cites"}))
      set_once(files.edges, entry.path(), "the edge list");
    else if (contains(name, {"target", "label", "class"}))
      set_once(files.labels, entry.path(), "the labels");
    else if (contains(name, {"feat", ".json"}))
      set_once(files.features, entry.path(), "the features");
    else if (contains(name, {"node", ".content"}))
      set_once(nodes, entry.path(), "the nodes");
    else
      others.push_back(entry.path());
  }
  std::sort(others.begin(), others.end());
  for (const fs::path& path : others)
    if (files.edges.empty() && names_ends(path))
      files.edges = path;
    else
      unused.push_back(path.filename().string());
  if (files.labels.empty()) files.labels = nodes;
  if (files.features.empty()) files.features = nodes;
  require(!files.edges.empty(),
          "{} is a folder of no kind we know: expected raw/edge.csv.gz (OGB), "
          "out1_graph_edges.txt (Geom-GCN), or a table with 'edge' in its name or columns called "
          "source and target; or name the files with --edges, --features and --labels",
          folder.string());
  if (!unused.empty())
    log("{}: not used, since their names do not say what they are: {}", folder.string(),
        fmt::join(unused, ", "));
  return files;
}

}  // namespace spex
