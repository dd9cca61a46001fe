// How neighbours are drawn for a model that sees a few per layer.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace spex {

enum class Sampling {
  weighted,  // in proportion to the scores
  uniform,   // all neighbours alike
  top,       // the k largest scores, no chance involved
};
std::string_view name(Sampling sampling);

struct SamplingOptions {
  Sampling kind = Sampling::weighted;
  std::vector<size_t> degrees;  // neighbours per layer, of the attention graph; empty: all
  std::vector<size_t> local;    // of the graph's own edges, besides the node itself; empty: all
  size_t resample_every = 1;    // epochs between new samples
  size_t truncate = 0;          // draw only from so many largest scores of a row; 0: from all
  bool log_scores = false;      // samples carry the logarithm of their scores
};

}  // namespace spex
