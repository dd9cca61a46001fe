// Data sets stored as .npz.
#pragma once

#include "data/draft.h"
#include "data/formats/npy.h"

namespace spex {

// Any kind, told apart by the names of the arrays.
Draft read_npz(NpzArchive archive, const ReadOptions& options);

// One split from the arrays train_mask, val_mask and test_mask (Geom-GCN).
Split read_split_npz(const std::filesystem::path& path, size_t nodes);

}  // namespace spex
