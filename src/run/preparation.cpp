#include <fmt/format.h>
#include <spex/core/error.h>
#include <spex/core/files.h>
#include <spex/core/log.h>
#include <spex/data/feature_columns.h>
#include <spex/data/fingerprint.h>
#include <spex/data/structure.h>
#include <spex/run/preparation.h>

#include <algorithm>
#include <span>
#include <utility>

namespace spex {
namespace {

constexpr const char* kWithoutFeatures = "degree,walk";

bool holds(const std::vector<Structure>& parts, Structure part) {
  return std::find(parts.begin(), parts.end(), part) != parts.end();
}

// Columns that are made of the graph, and what the log calls them.
struct Made {
  std::vector<std::string> names;
  std::vector<Matrix> parts;

  void add(std::string name, Matrix columns) {
    names.push_back(std::move(name));
    parts.push_back(std::move(columns));
  }
  Matrix side_by_side(size_t rows) const {
    size_t width = 0;
    for (const Matrix& part : parts) width += part.cols();
    Matrix all(rows, width, MemoryTag::features);
    size_t first = 0;
    for (const Matrix& part : parts) {
      copy(all.view().columns(first, part.cols()), part);
      first += part.cols();
    }
    return all;
  }
};

// An embedding is not among them.
Made make_columns(const CsrGraph& graph, const std::vector<Structure>& wanted) {
  Made made;
  if (holds(wanted, Structure::degree)) made.add("log-degree", degree_features(graph));
  if (holds(wanted, Structure::walk)) {
    WalkFeatures walks = walk_features(graph);
    made.add(fmt::format("return probabilities of random walks of 1 to {} steps{}",
                         walks.values.cols(), walks.exact ? "" : " (estimated)"),
             std::move(walks.values));
  }
  if (holds(wanted, Structure::laplacian)) {
    LaplacianFeatures vectors = laplacian_features(graph);
    made.add(fmt::format("{} eigenvectors of the Laplacian", vectors.values.cols()),
             std::move(vectors.values));
  }
  return made;
}

size_t columns_changed(const ColumnScaling& scaling) {
  size_t changed = 0;
  for (size_t c = 0; c < scaling.scale.size(); ++c)
    changed += scaling.scale[c] != 1.0 || (!scaling.mean.empty() && scaling.mean[c] != 0.0);
  return changed;
}

// Where no column changes there is nothing to do or to keep: mapped features stay mapped.
ColumnScaling or_nothing(ColumnScaling scaling) {
  return columns_changed(scaling) > 0 ? std::move(scaling) : ColumnScaling();
}

void scale_edges(Dataset& data, const ColumnScaling& scaling) {
  if (scaling.scale.empty() || scaling.scale.size() != data.edge_feature_count) return;
  SharedArray<float> given = std::exchange(
      data.edge_features, scaled_rows(data.edge_features.span(), scaling, MemoryTag::graph));
  give_back_pages(std::as_bytes(given.span()));
}

std::vector<Structure> parts_of(const Preparation& preparation) {
  FeatureConfig config;
  config.structure = preparation.structure;
  return config.parts();
}

Features as_given(const Dataset& data) {
  if (feature_count(data.features) > 0) return data.features;
  return DenseFeatures{data.nodes(), 0, {}};
}

// `made` are the columns of the structure.
Features combined(const Dataset& data, const Preparation& preparation, const Matrix& made) {
  Features given = as_given(data), features = scaled(given, preparation.features);
  if (const auto* dense = std::get_if<DenseFeatures>(&given);
      dense && !preparation.features.scale.empty())
    give_back_pages(std::as_bytes(dense->values.span()));
  if (!preparation.made.scale.empty()) {
    Buffer<float> values = scaled_rows(made.span(), preparation.made, MemoryTag::features);
    features = with_columns(features, {values.data(), made.rows(), made.cols(), made.cols()});
  } else if (made.cols() > 0) {
    features = with_columns(features, made);
  }
  return preparation.has_embedding() ? with_identity(features) : features;
}

void say(const Preparation& preparation, std::vector<std::string> made, bool automatic) {
  if (preparation.has_embedding()) made.emplace_back("a learned vector per node");
  if (!made.empty())
    log("features made of the graph: {}{}", fmt::join(made, ", "),
        automatic ? ", since the data has none (features.structure)" : "");
  if (size_t changed = columns_changed(preparation.features))
    log("{} of the {} features brought to one scale (features.standardise)", changed,
        preparation.given);
}

}  // namespace

bool Preparation::has_embedding() const {
  return holds(parts_of(*this), Structure::embedding);
}

PreparedData prepare(Dataset data, const FeatureConfig& config) {
  uint64_t mark = fingerprint(data);
  Preparation preparation;
  preparation.given = feature_count(data.features);
  bool bare = preparation.given == 0;
  preparation.structure =
      config.automatic() ? (bare ? kWithoutFeatures : "none") : config.structure;
  std::vector<Structure> parts = parts_of(preparation);
  require(!bare || !parts.empty(),
          "{} has no features, and features.structure=none makes none; leave it at auto, or name "
          "what to make, as degree,walk",
          data.name);
  Made made = make_columns(data.graph, parts);
  Matrix columns = made.side_by_side(data.nodes());
  if (config.standardise) {
    preparation.features = or_nothing(measure_features(as_given(data)));
    preparation.made = or_nothing(measure_rows(columns.span(), columns.cols()));
    preparation.edges =
        or_nothing(measure_rows(data.edge_features.span(), data.edge_feature_count));
  }
  say(preparation, std::move(made.names), config.automatic());
  data.features = combined(data, preparation, columns);
  scale_edges(data, preparation.edges);
  return {std::move(data), std::move(preparation), mark};
}

Dataset prepare_as(const Preparation& preparation, Dataset data) {
  size_t given = feature_count(data.features);
  require(given == preparation.given, "{} has {} features, but the run was trained with {}",
          data.source, given, preparation.given);
  Matrix columns = make_columns(data.graph, parts_of(preparation)).side_by_side(data.nodes());
  data.features = combined(data, preparation, columns);
  scale_edges(data, preparation.edges);
  return data;
}

ColumnScaling target_scaling(const Labels& labels, const Split& split,
                             const FeatureConfig& config) {
  if (!config.standardise || labels.task != Task::regression) return {};
  return or_nothing(measure_targets(labels, split.train.span()));
}

}  // namespace spex
