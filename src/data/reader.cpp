#include <spex/core/error.h>
#include <spex/core/files.h>
#include <spex/data/native.h>
#include <spex/data/reader.h>
#include <spex/data/validate.h>

#include "data/formats/foreign.h"
#include "data/formats/formats.h"
#include "data/formats/json_file.h"
#include "data/formats/lines.h"
#include "data/formats/npz_datasets.h"

namespace spex {
namespace {

namespace fs = std::filesystem;

bool has_any(const fs::path& folder, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (fs::exists(folder / name)) return true;
  return false;
}

// Columns are named in tables only; and a file that says what its labels are is not asked again.
void refuse_unused(const ReadOptions& options, const fs::path& path, bool has_task = false) {
  const std::pair<const char*, bool> given[] = {
      {"--source-column", !options.source_column.empty()},
      {"--target-column", !options.target_column.empty()},
      {"--weight-column", !options.weight_column.empty()},
      {"--id-column", !options.id_column.empty()},
      {"--label-column", !options.label_column.empty()},
      {"--task", has_task && options.task != LabelTask::by_values}};
  for (const auto& [name, is_given] : given)
    require(!is_given, "{}: there is nothing that {} could choose; it is for tables", path.string(),
            name);
}

Draft read_folder(const fs::path& folder, const ReadOptions& options) {
  if (has_any(folder, {"raw/edge.csv.gz", "raw/edge.csv", "edge.csv.gz"})) {
    refuse_unused(options, folder);
    return read_ogb(folder, options);
  }
  if (has_any(folder, {"out1_graph_edges.txt", "out1_node_feature_label.txt"})) {
    refuse_unused(options, folder, true);
    return read_geom_gcn(folder);
  }
  if (has_any(folder, {"data.json"})) {
    refuse_unused(options, folder, true);
    return read_wikics(JsonFile::open(folder / "data.json"));
  }
  Draft draft = read_table_files(find_tables(folder), options);
  draft.path = folder;
  return draft;
}

Draft read_json(const fs::path& path, const ReadOptions& options) {
  refuse_unused(options, path, true);
  JsonFile file = JsonFile::open(path);
  require(
      file.root.is_object() && file.root.contains("features") && file.root.contains("links"),
      "{} is JSON without 'features', 'labels' and 'links' (WikiCS); save the edges as a table of "
      "two columns, and name it with --edges, beside --features and --labels",
      path.string());
  return read_wikics(file);
}

Draft read_file(const fs::path& path, const ReadOptions& options) {
  TextFile file = TextFile::open(path);
  std::string start = file.head(256);
  require(!start.empty(), "{} is empty", path.string());
  if (start.starts_with("PK")) {
    refuse_unused(options, path);
    return read_npz(NpzArchive::open(path), options);
  }
  if (start.starts_with("MATLAB 5.0")) {
    refuse_unused(options, path, true);
    return read_mat(path);
  }
  require(!start.starts_with("MATLAB") && !start.starts_with("\x89HDF"),
          "{} is a MATLAB 7.3 or HDF5 file; save it with save(..., '-v7')", path.string());
  require(!start.starts_with("\x93NUMPY"),
          "{} is a single numpy array; expected an .npz with edges, features and labels",
          path.string());
  refuse_foreign(path, start);
  size_t first = start.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && (start[first] == '{' || start[first] == '['))
    return read_json(path, options);
  return read_table_files({path, {}, {}}, options);
}

}  // namespace

Dataset read_dataset(const fs::path& path, const ReadOptions& options) try {
  require(fs::exists(path), "{} does not exist", path.string());
  if (fs::is_directory(path)) return finish(read_folder(path, options), options);
  auto file = MappedFile::open(path);
  std::string_view text(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
  std::string_view start = text.substr(0, 9);
  // A safetensors file starts with the length of its header, then the header's bracket.
  if (start.size() > 8 && start[8] == '{' && start[6] == 0 && start[7] == 0) {
    refuse_unused(options, path, true);
    require(options.undirected && options.drop_duplicates && options.drop_self_loops,
            "{} was cleaned when it was written; clean the files that it was made of",
            path.string());
    Dataset dataset = load_native(path);
    if (options.validate) validate(dataset);
    return dataset;
  }
  return finish(read_file(path, options), options);
} catch (const fs::filesystem_error& error) {  // a folder that may not be listed, for example
  fail("cannot read {}: {}", path.string(), error.code().message());
}

Dataset read_tables(const TableFiles& files, const ReadOptions& options) {
  return finish(read_table_files(files, options), options);
}

}  // namespace spex
