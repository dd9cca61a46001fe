#include <spex/core/hash.h>
#include <spex/data/fingerprint.h>

#include <algorithm>

namespace spex {
namespace {

constexpr size_t kMostBytes = size_t{64} << 20;

template <class T>
uint64_t chain(uint64_t hash, const SharedArray<T>& values) {
  return hash_bytes(hash, std::as_bytes(values.span()), kMostBytes);
}

uint64_t chain(uint64_t hash, const Features& features) {
  hash = hash_word(hash, feature_count(features));
  if (const auto* dense = std::get_if<DenseFeatures>(&features)) return chain(hash, dense->values);
  const auto& sparse = std::get<SparseMatrix>(features);
  return chain(chain(chain(hash, sparse.offsets), sparse.columns), sparse.values);
}

}  // namespace

uint64_t fingerprint(const Dataset& data) {
  uint64_t hash = chain(chain(1, data.graph.offsets), data.graph.neighbours);
  hash = chain(hash, data.features);
  hash = hash_word(hash_word(hash, static_cast<uint64_t>(data.labels.task)), data.labels.outputs);
  hash = chain(chain(hash, data.labels.classes), data.labels.values);
  return std::max<uint64_t>(1, chain(hash, data.edge_features));
}

}  // namespace spex
