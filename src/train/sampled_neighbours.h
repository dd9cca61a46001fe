// Samplers of both graphs, as a model wants them, and the batches drawn with them.
#pragma once

#include <spex/sample/batch.h>
#include <spex/train/ground.h>

#include <optional>

namespace spex {

class SampledNeighbours {
 public:
  // Ground must outlive it. with_local: batches have samples of the graph's own edges too.
  SampledNeighbours(const Ground& ground, const SamplingOptions& options, bool with_local,
                    uint64_t seed);

  BatchBuilder& builder() { return *builder_; }
  // Which sample an epoch uses.
  uint32_t sample_of(size_t epoch) const {
    return static_cast<uint32_t>(epoch / options_.resample_every);
  }

 private:
  SamplingOptions options_;
  std::optional<Scores> truncated_;
  std::optional<Sampler> attention_, local_;
  std::optional<BatchBuilder> builder_;
};

}  // namespace spex
