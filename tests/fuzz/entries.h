// What a fuzzer does with its bytes, one function per format. An Error is a good answer; anything
// else (another exception, a crash, a leak) is a finding. The corpus test calls the same functions.
#pragma once

#include <spex/core/error.h>
#include <spex/core/safetensors.h>
#include <spex/data/validate.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>

#include "data/draft.h"
#include "data/formats/formats.h"
#include "data/formats/json_file.h"
#include "data/formats/matrix_market.h"
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
  expect_error_or_success([&] { finish(read_npz(NpzArchive::parse(bytes, "fuzz.npz"), {}), {}); });
}

inline void safetensors(Bytes bytes) {
  expect_error_or_success(
      [&] { validate(native_dataset(Safetensors::parse(bytes, nullptr, "fuzz.safetensors"))); });
}

// The same text as an edge list, as labels and as features. The ids of the last two are matched
// with those of the edges, as far as these could be read.
inline void csv(Bytes bytes) {
  TextFile file{"fuzz.csv", bytes, nullptr};
  NodeIds ids;
  expect_error_or_success([&] {
    NodeIds of_edges;
    EdgeTable edges = read_edge_table(file, {}, of_edges);
    if (edges.declared_nodes == 0) of_edges.settle("fuzz.csv");
    of_edges.renumber(edges.sources.span());
    of_edges.keys();
  });
  expect_error_or_success([&] { read_edge_table(file, {}, ids); });
  expect_error_or_success([&] {
    NodeIds all = ids;
    Draft draft;
    LabelTable labels = read_label_table(file, {}, all);
    draft.nodes = labels.has_ids ? all.settle("fuzz.csv") : labels.values.size();
    all.renumber(labels.ids);
    place_labels(draft, labels, LabelTask::by_values, "fuzz.csv");
  });
  expect_error_or_success([&] {
    NodeIds all = ids;
    FeatureTable features = read_feature_table(file, {}, all);
    size_t nodes = features.has_ids ? all.settle("fuzz.csv") : features.rows;
    all.renumber(features.ids);
    place_features(features, nodes, "fuzz.csv");
  });
}

inline void mtx(Bytes bytes) {
  TextFile file{"fuzz.mtx", bytes, nullptr};
  expect_error_or_success([&] {
    EdgeTable table = read_matrix_market(file);
    Draft draft;
    draft.nodes = table.declared_nodes;
    draft.sources = std::move(table.sources);
    draft.targets = std::move(table.targets);
    draft.edge_width = table.width;
    draft.edge_values = std::move(table.values);
    finish(std::move(draft), {});
  });
}

// Three tables in one input, with a zero byte between them: edges, labels, features.
inline void tables(Bytes bytes) {
  TextFile files[3];
  for (TextFile& file : files) {
    auto end = std::find(bytes.begin(), bytes.end(), std::byte{0});
    file = {"fuzz" + std::to_string(&file - files) + ".csv",
            bytes.first(static_cast<size_t>(end - bytes.begin())), nullptr};
    bytes = bytes.subspan(std::min(file.bytes.size() + 1, bytes.size()));
  }
  expect_error_or_success([&] {
    finish(draft_of_tables(files[0], files[1].bytes.empty() ? nullptr : &files[1],
                           files[2].bytes.empty() ? nullptr : &files[2], {}),
           {});
  });
}

inline void json(Bytes bytes) {
  expect_error_or_success([&] {
    JsonFile file = JsonFile::parse(bytes, "fuzz.json");
    expect_error_or_success([&] { finish(read_wikics(file), {}); });
    NodeIds ids;
    FeatureTable features = read_feature_lists(file, ids);
    size_t nodes = features.has_ids ? ids.settle("fuzz.json") : features.rows;
    ids.renumber(features.ids);
    place_features(features, nodes, "fuzz.json");
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
