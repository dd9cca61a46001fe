// One function per foreign format; read_dataset chooses among them.
#pragma once

#include <filesystem>

#include "data/draft.h"

namespace spex {

struct JsonFile;

Draft read_wikics(const JsonFile& file);
Draft read_mat(const std::filesystem::path& path);
Draft read_ogb(const std::filesystem::path& folder, const ReadOptions& options);
Draft read_geom_gcn(const std::filesystem::path& folder);
Draft read_table_files(const TableFiles& files, const ReadOptions& options);

// The tables of a folder, by their names; throws unless there is exactly one edge list.
TableFiles find_tables(const std::filesystem::path& folder);

}  // namespace spex
