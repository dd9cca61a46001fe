#include <gtest/gtest.h>
#include <spex/data/fingerprint.h>
#include <spex/data/generators.h>

#include <functional>

namespace spex {
namespace {

template <class T>
void change_last(SharedArray<T>& values, T value) {
  Buffer<T> copy(values.size(), MemoryTag::other);
  std::copy(values.begin(), values.end(), copy.begin());
  ASSERT_NE(copy[copy.size() - 1], value);
  copy[copy.size() - 1] = value;
  values = std::move(copy);
}

TEST(DataFingerprint, ChangesWithEdgesFeaturesAndLabels) {
  Dataset data = generate("sbm", {.nodes = 300});
  uint64_t expected = fingerprint(data);
  EXPECT_NE(expected, 0U);
  EXPECT_EQ(fingerprint(generate("sbm", {.nodes = 300})), expected);
  auto changed = [&](const std::function<void(Dataset&)>& change) {
    Dataset other = data;
    change(other);
    return fingerprint(other);
  };
  EXPECT_NE(changed([](Dataset& d) { change_last(d.graph.neighbours, NodeId{1}); }), expected);
  EXPECT_NE(
      changed([](Dataset& d) { change_last(std::get<DenseFeatures>(d.features).values, 77.0F); }),
      expected);
  EXPECT_NE(changed([](Dataset& d) { change_last(d.labels.classes, -1); }), expected);
  EXPECT_NE(changed([](Dataset& d) { d.labels.outputs += 1; }), expected);
  EXPECT_EQ(changed([](Dataset& d) { d.splits.clear(), d.name = "other"; }), expected)
      << "what a run can do without";
}

}  // namespace
}  // namespace spex
