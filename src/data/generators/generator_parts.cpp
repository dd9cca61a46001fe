#include "data/generators/generator_parts.h"

#include <spex/core/threads.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace spex {
namespace {

constexpr size_t kRowBlock = 1024;

// Two normals from two words (Box and Muller); 32 bits each are plenty for features.
std::array<float, 2> two_normals(uint32_t a, uint32_t b) {
  constexpr float kUnit = 0x1p-32F;
  float radius = std::sqrt(-2.0F * std::log((static_cast<float>(a) + 0.5F) * kUnit));
  float angle = 2.0F * std::numbers::pi_v<float> * static_cast<float>(b) * kUnit;
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

template <class Row>
DenseFeatures filled_by_row(size_t rows, size_t columns, Row fill_row) {
  Buffer<float> values(rows * columns, MemoryTag::features);
  parallel_for(rows, kRowBlock, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) fill_row(i, values.span().subspan(i * columns, columns));
  });
  return {rows, columns, std::move(values)};
}

SharedArray<NodeId> shared(std::vector<NodeId> ids) {
  std::sort(ids.begin(), ids.end());
  Buffer<NodeId> buffer(ids.size(), MemoryTag::other);
  std::ranges::copy(ids, buffer.begin());
  return buffer;
}

}  // namespace

Random part_random(uint64_t seed, Part part, uint32_t epoch) {
  return Random(seed, Purpose::generator, epoch, static_cast<uint32_t>(part));
}

void fill_normal(std::span<float> out, const Random& random, uint64_t row) {
  size_t calls = (out.size() + 3) / 4;
  for (size_t call = 0; call < calls; ++call) {
    auto words = random.bits(row * calls + call);
    auto low = two_normals(words[0], words[1]), high = two_normals(words[2], words[3]);
    std::array<float, 4> normals = {low[0], low[1], high[0], high[1]};
    size_t count = std::min<size_t>(4, out.size() - 4 * call);
    std::copy_n(normals.begin(), count, out.begin() + static_cast<ptrdiff_t>(4 * call));
  }
}

DenseFeatures normal_features(size_t rows, size_t columns, uint64_t seed) {
  Random random = part_random(seed, Part::features);
  return filled_by_row(rows, columns,
                       [&](size_t i, std::span<float> row) { fill_normal(row, random, i); });
}

DenseFeatures features_around_centres(std::span<const int32_t> classes, size_t class_count,
                                      size_t columns, double separation, uint64_t seed) {
  std::vector<float> centres(class_count * columns);
  Random random = part_random(seed, Part::centres);
  // Two vectors of independent normals lie sqrt(2 columns) apart.
  auto scale = static_cast<float>(separation / std::sqrt(2.0 * static_cast<double>(columns)));
  for (size_t c = 0; c < class_count; ++c)
    fill_normal(std::span(centres).subspan(c * columns, columns), random, c);
  Random noise = part_random(seed, Part::features);
  return filled_by_row(classes.size(), columns, [&](size_t i, std::span<float> row) {
    fill_normal(row, noise, i);
    const float* centre = &centres[static_cast<size_t>(classes[i]) * columns];
    for (size_t f = 0; f < columns; ++f) row[f] += scale * centre[f];
  });
}

Split stratified_split(std::span<const int32_t> groups, size_t group_count, Shares shares,
                       const Random& random) {
  std::vector<std::vector<NodeId>> members(group_count);
  for (NodeId node : random_permutation(groups.size(), random))
    members[static_cast<size_t>(groups[node])].push_back(node);
  std::vector<NodeId> train, validation, test;
  for (const auto& group : members) {
    auto size = static_cast<double>(group.size());
    auto first = group.begin() + std::lround(size * shares.train);
    auto second = group.begin() + std::lround(size * (shares.train + shares.validation));
    train.insert(train.end(), group.begin(), first);
    validation.insert(validation.end(), first, second);
    test.insert(test.end(), second, group.end());
  }
  return {shared(std::move(train)), shared(std::move(validation)), shared(std::move(test))};
}

}  // namespace spex
