// What a fuzzer does with its bytes, one function per format. An Error is a good answer; anything
// else (another exception, a crash, a leak) is a finding. The corpus test calls the same functions.
#pragma once

#include <spex/core/error.h>
#include <spex/core/safetensors.h>
#include <spex/data/validate.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <span>
#include <string>

#include "data/draft.h"
#include "data/formats/formats.h"
#include "data/formats/json_file.h"
#include "data/formats/native.h"
#include "data/formats/npz_datasets.h"
#include "data/formats/tables.h"

namespace spex::fuzz {

using Bytes = std::span<const std::byte>;

template <class Body>
void expect_error_or_success(Body&& body) {
  try {
    body();
  } catch (const Error&) {
  }
}

inline void npy(Bytes bytes) {
  expect_error_or_success([&] {
    NpyArray array = NpyArray::parse(bytes, "fuzz.npy");
    expect_error_or_success([&] { array.floats(); });
    expect_error_or_success([&] { array.integers(); });
    expect_error_or_success([&] { array.mask(); });
    expect_error_or_success([&] { array.strings(); });
  });
}

inline void npz(Bytes bytes) {
  expect_error_or_success([&] { finish(read_npz(NpzArchive::parse(bytes, "fuzz.npz")), {}); });
}

inline void safetensors(Bytes bytes) {
  expect_error_or_success(
      [&] { validate(native_dataset(Safetensors::parse(bytes, nullptr, "fuzz.safetensors"))); });
}

// The same text as an edge list, as labels and as features.
inline void csv(Bytes bytes) {
  auto open = [&] { return CsvReader::parse(bytes, "fuzz.csv"); };
  expect_error_or_success([&] {
    NodeIds ids;
    EdgeTable edges = read_edge_table(open(), ids);
    ids.settle({&edges.sources, &edges.targets}, 0);
  });
  expect_error_or_success([&] {
    NodeIds ids;
    Draft draft;
    LabelTable labels = read_label_table(open(), "", ids);
    draft.nodes = ids.settle({&labels.ids}, labels.has_ids ? 0 : labels.values.size());
    place_labels(draft, labels, "fuzz.csv");
  });
  expect_error_or_success([&] {
    NodeIds ids;
    FeatureTable features = read_feature_table(open(), ids);
    place_features(features, ids.settle({&features.ids}, features.has_ids ? 0 : features.rows),
                   "fuzz.csv");
  });
}

inline void json(Bytes bytes) {
  expect_error_or_success([&] {
    JsonFile file = JsonFile::parse(bytes, "fuzz.json");
    expect_error_or_success([&] { finish(read_wikics(file), {}); });
    NodeIds ids;
    FeatureTable features = read_feature_lists(file, ids);
    place_features(features, ids.settle({&features.ids}, features.has_ids ? 0 : features.rows),
                   "fuzz.json");
  });
}

// matio wants a path, so the bytes become a file in memory.
inline void mat(Bytes bytes) {
  int fd = ::memfd_create("fuzz.mat", MFD_CLOEXEC);
  if (fd < 0) return;
  if (::write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()))
    expect_error_or_success([&] { finish(read_mat("/proc/self/fd/" + std::to_string(fd)), {}); });
  ::close(fd);
}

}  // namespace spex::fuzz
