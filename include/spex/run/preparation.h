// Between a data set as it was read and what a model is given: columns made of the graph's
// structure, and all columns on a common scale. What was measured belongs to the model, since what
// is predicted later must be prepared in the same way.
#pragma once

#include <spex/config/config.h>
#include <spex/data/standardise.h>

#include <string>

namespace spex {

struct Preparation {
  size_t given = 0;                // features of the data set
  std::string structure = "none";  // what is added, as features.structure says; never auto
  ColumnScaling features;          // of the given ones; empty: they stay as they are
  ColumnScaling made;              // of those that are added; an embedding has no scale
  ColumnScaling targets;           // of a regression
  ColumnScaling edges = {};        // of the features of edges

  bool has_embedding() const;
};

struct PreparedData {
  Dataset data;  // labels as they were: the objective scales targets
  Preparation preparation;
  uint64_t fingerprint = 0;  // of the data set as it was read
};

// Measures the data set, and brings its features, and those of its edges, to what a model of this
// configuration gets. Done
// once, right after reading.
PreparedData prepare(Dataset data, const FeatureConfig& config);

// The same for predictions, as it was measured then. Throws if the data set has other features;
// whether its edges have what the model needs, the caller must see. An embedding is of the graph it
// was learned on: the caller must not come with another.
Dataset prepare_as(const Preparation& preparation, Dataset data);

// Of the targets of these nodes, which are trained on; empty where there is nothing to scale.
ColumnScaling target_scaling(const Labels& labels, const Split& split, const FeatureConfig& config);

}  // namespace spex
