// Settings that suit the data, used where there is neither preset nor file. Nothing of them depends
// on test nodes.
#pragma once

#include <spex/run/trial.h>

#include <limits>
#include <string>
#include <vector>

namespace spex {

// By how much the validation metric of a shape, on so many nodes, must be above that of a simpler
// one with `score` to replace it: half a standard error, so that a few nodes do not decide.
double worthwhile_gain(double score, size_t judges);

// What of a data set and a split settings may depend on.
struct DataFacts {
  size_t nodes = 0;
  size_t edges = 0;  // directed
  size_t train_nodes = 0, validation_nodes = 0;
  // Of the edges between training nodes: how much more often their classes agree than by chance; 1:
  // always, 0: as by chance. NaN: there are no such edges, or no classes.
  double homophily = std::numeric_limits<double>::quiet_NaN();
  // Training nodes have other class shares than validation nodes, by more than chance: so many of
  // each class were drawn, say.
  bool shares_differ = false;
};
DataFacts facts_of(const Dataset& data, const Split& split);

// What is trained where no model was asked for.
std::string default_model(const Dataset& data);

// Whether default_config trains some shapes of this model to choose among them.
bool tries_shapes(const std::string& model);

// The shapes that it tries, everything else as in `start`; none of another model.
std::vector<Config> shapes_of(const Config& start);

// `split` is that of the run: shapes of the network with a local branch are tried on its validation
// nodes. Says what was chosen, and why. `stop` is asked after every epoch of a trial; if it says
// so, there is nothing to go on with, and this throws.
Config default_config(const Dataset& data, const std::string& model, const SplitConfig& split = {},
                      const Stop& stop = {});

}  // namespace spex
