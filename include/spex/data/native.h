// Our own data set files: safetensors with the arrays that docs/formats.md lists.
#pragma once

#include <spex/data/dataset.h>

#include <filesystem>

namespace spex {

// Maps the file and checks that its arrays fit together: types, lengths, the first and last row
// offset. It does not read the arrays, so that 10 GB open in milliseconds; ids and values inside
// them are not trusted yet. Whoever walks them runs validate (validate.h) first, which costs a
// fraction of a second; read_dataset does so unless it is told otherwise.
Dataset load_native(const std::filesystem::path& path);

// Atomic, and only what `validate` accepts is written.
void save_native(const Dataset& dataset, const std::filesystem::path& path);

}  // namespace spex
