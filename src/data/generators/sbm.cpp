#include <spex/core/error.h>
#include <spex/data/generators.h>

#include <cmath>

#include "data/generators/block_model.h"
#include "data/generators/generator_parts.h"

namespace spex {
namespace {

// With unit noise: at 2.5 a classifier that sees a node alone is wrong more often than right among
// ten classes or more, while the mean of a dozen neighbours of the same class gives it away.
constexpr double kSeparation = 2.5;

}  // namespace

Dataset generate_sbm(const SbmOptions& options) {
  require(options.noise > 0, "sbm: the feature noise must be positive, not {}", options.noise);
  require(options.features > 0, "sbm: at least one feature is needed");
  require(options.degree >= 0, "sbm: the average degree cannot be {}", options.degree);
  BlockModel model;
  model.class_sizes = class_sizes(options.nodes, options.classes, 0.0);
  model.pairs = static_cast<uint64_t>(
      std::llround(options.degree * static_cast<double>(options.nodes) / 2.0));
  model.homophily = options.homophily;
  model.skew = options.skew;
  model.seed = options.seed;
  BlockGraph blocks = sample_block_model(model);

  Dataset data;
  data.name = "sbm";
  data.source = fmt::format("generator sbm, homophily {}, skew {}, noise {}, seed {}",
                            options.homophily, options.skew, options.noise, options.seed);
  data.synthetic = true;
  data.graph = std::move(blocks.graph);
  data.features = features_around_centres(blocks.classes.span(), options.classes, options.features,
                                          kSeparation / options.noise, options.seed);
  data.splits = {stratified_split(blocks.classes.span(), options.classes, {},
                                  part_random(options.seed, Part::split))};
  data.labels = {Task::classes, options.classes, std::move(blocks.classes), {}};
  return data;
}

}  // namespace spex
