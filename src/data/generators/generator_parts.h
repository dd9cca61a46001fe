// What the generators share: random features, random splits.
#pragma once

#include <spex/core/random.h>
#include <spex/data/dataset.h>

#include <span>
#include <vector>

namespace spex {

// What a generator's random numbers are for; as Random's layer, so that no two parts share one.
enum class Part : uint32_t { order = 1, labels, edges, centres, features, split, repair };
Random part_random(uint64_t seed, Part part, uint32_t epoch = 0);

// out[i] ~ N(0, 1): the numbers of row `row` of a matrix with out.size() columns.
void fill_normal(std::span<float> out, const Random& random, uint64_t row);

// Row i is centre classes[i] plus unit noise. Centres are random directions; two of them lie
// `separation` apart on average.
DenseFeatures features_around_centres(std::span<const int32_t> classes, size_t class_count,
                                      size_t columns, double separation, uint64_t seed);

DenseFeatures normal_features(size_t rows, size_t columns, uint64_t seed);

struct Shares {
  double train = 0.5;
  double validation = 0.25;  // the rest is for testing
};

// Splits the members of each group by the shares. groups[i] in [0, group_count): class of node i.
Split stratified_split(std::span<const int32_t> groups, size_t group_count, Shares shares,
                       const Random& random);

}  // namespace spex
