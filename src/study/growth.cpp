// Figure 7: seconds and bytes of a training epoch as a random graph grows in nodes, and in density.
#include <fmt/format.h>
#include <spex/core/error.h>
#include <spex/core/log.h>
#include <spex/data/generators.h>
#include <spex/study/statistics.h>

#include <algorithm>
#include <array>

#include "study/figures.h"
#include "study/studies.h"
#include "study/training.h"

namespace spex {
namespace {

constexpr size_t kWidth = 64, kGrowthLayers = 2, kDegree = 5, kFeatures = 64, kClasses = 10;
constexpr double kAverage = 20;
constexpr size_t kSizes = 6;            // each twice the one before
constexpr size_t kDensities = 5;        // of a graph with the second-smallest number of nodes
constexpr size_t kLeastNodes = 12'800;  // or the densest graph would have too few pairs of nodes
constexpr double kGrowthSlack = 0.1;

const std::array<const char*, 4> kNetworks = {"GCN", "Exphormer", "estimator", "Spexphormer"};

Config network_config(const std::string& model) {
  Config config(model);
  std::vector<std::string> settings = {fmt::format("{}.width={}", model, kWidth)};
  if (model == "spexphormer")
    settings.insert(settings.end(), {fmt::format("{}.degrees=[{},{}]", model, kDegree, kDegree),
                                     model + ".heads=1", "estimator.width=8"});
  else
    settings.push_back(fmt::format("{}.layers={}", model, kGrowthLayers));
  if (model == "exphormer") settings.push_back(model + ".heads=1");
  for (const std::string& setting : settings) apply_setting(config, setting);
  tell_scorers(config);
  return config;
}

// The four networks on one graph, in the order of kNetworks.
std::array<EpochCost, 4> measure(const Dataset& data, size_t epochs) {
  std::array<EpochCost, 4> costs;
  for (size_t i = 0; i < 2; ++i) {
    Config config = network_config(i == 0 ? "gcn" : "exphormer");
    costs[i] = measure_phase(config.final(), make_problem(data, config), config, epochs);
  }
  Config config = network_config("spexphormer");
  Problem problem = make_problem(data, config);
  const Phase& estimator = config.phases.front();
  costs[2] = measure_phase(estimator, problem, config, epochs);
  // Scores of a network that was not trained: what drawing costs does not depend on them.
  auto model = estimator.model->make(shape_of(problem, config), 0);
  problem.scores = attention_scores(*model, estimator, problem, 1.0F);
  model.reset();
  costs[3] = measure_phase(config.final(), problem, config, epochs);
  return costs;
}

Dataset random_graph(size_t nodes, double degree) {
  RandomGraphOptions options;
  options.nodes = nodes;
  options.degree = degree;
  options.features = kFeatures;
  options.classes = kClasses;
  return generate_er(options);
}

// One series of graphs; gives the exponents of seconds and bytes by network.
struct Growth {
  std::array<double, 4> seconds, bytes;
};
Growth add_series(StudyTable& table, const std::string& series, size_t epochs,
                  const std::vector<std::pair<size_t, double>>& graphs) {
  std::vector<double> sizes;
  std::array<std::vector<double>, 4> seconds, bytes;
  for (auto [nodes, degree] : graphs) {
    log("{}: {} nodes, average degree {}", series, nodes, degree);
    std::array<EpochCost, 4> costs = measure(random_graph(nodes, degree), epochs);
    double edges = static_cast<double>(nodes) * degree;
    sizes.push_back(edges);
    for (size_t i = 0; i < costs.size(); ++i) {
      seconds[i].push_back(costs[i].seconds);
      bytes[i].push_back(static_cast<double>(costs[i].peak_bytes));
      table.add({series, kNetworks[i]},
                {static_cast<double>(nodes), degree, seconds[i].back(), bytes[i].back()});
    }
  }
  Growth growth{};
  for (size_t i = 0; i < 4; ++i)
    growth.seconds[i] = power(sizes, seconds[i]), growth.bytes[i] = power(sizes, bytes[i]);
  return growth;
}

}  // namespace

StudyRecord study_growth(const StudyRequest& request) {
  require(request.nodes >= kLeastNodes, "growth needs --nodes of {} or more, not {}", kLeastNodes,
          request.nodes);
  std::vector<std::pair<size_t, double>> by_nodes, by_density;
  for (size_t i = kSizes; i-- > 0;) by_nodes.emplace_back(request.nodes >> i, kAverage);
  for (size_t i = 0; i < kDensities; ++i)
    by_density.emplace_back(request.nodes >> (kSizes - 2), 10.0 * static_cast<double>(1UL << i));
  StudyRecord record;
  record.table.names = {"series", "network"};
  record.table.values = {"nodes", "average degree", "seconds per epoch", "peak bytes"};
  Growth nodes = add_series(record.table, "nodes", request.seeds, by_nodes);
  Growth density = add_series(record.table, "density", request.seeds, by_density);
  auto exponents = [](const std::array<double, 4>& e) {
    return fmt::format("GCN {:.2f}, Exphormer {:.2f}, estimator {:.2f}, Spexphormer {:.2f}", e[0],
                       e[1], e[2], e[3]);
  };
  double largest = *std::max_element(nodes.bytes.begin(), nodes.bytes.end());
  record.findings = {
      {"with the average degree fixed, memory grows in proportion to the graph",
       fmt::format("for every network the exponent of peak bytes over edges is at most {}",
                   1 + kGrowthSlack),
       exponents(nodes.bytes), largest <= 1 + kGrowthSlack},
      {"as a graph grows denser, Spexphormer's time grows less than a GCN's",
       "the exponent of its seconds over edges is below the GCN's, at a fixed number of nodes",
       exponents(density.seconds), density.seconds[3] < density.seconds[0]},
      {"and its memory less, too",
       "the exponent of its peak bytes over edges is below the GCN's, at a fixed number of nodes",
       exponents(density.bytes), density.bytes[3] < density.bytes[0]}};
  StudyFigure seconds;
  seconds.title = "Time by nodes";
  seconds.sentence = fmt::format("A training epoch, average degree {}.", kAverage);
  seconds.kind = "lines";
  seconds.x = "nodes";
  seconds.y = "seconds per epoch";
  seconds.series = "network";
  seconds.x_title = "nodes";
  seconds.y_title = "seconds per epoch";
  seconds.y_unit = "seconds";
  seconds.log_x = seconds.log_y = true;
  seconds.only = {"series=nodes"};
  StudyFigure dense = by_size(seconds, "average degree", "average degree", "seconds per epoch",
                              "seconds per epoch", "seconds");
  dense.only = {"series=density"};
  record.figures = {
      seconds, by_size(seconds, "nodes", "nodes", "peak bytes", "peak memory", "bytes"), dense,
      by_size(dense, "average degree", "average degree", "peak bytes", "peak memory", "bytes")};
  record.choices = {
      fmt::format(
          "Random graphs (er) with {} features; {} layers of width {}, one head, {} drawn "
          "neighbours a layer, an expander of degree 30 for all but the GCN; whole graph at "
          "once; the median of {} training epochs, where the paper times a forward pass of "
          "one layer.",
          kFeatures, kGrowthLayers, kWidth, kDegree, request.seeds),
      "Peak bytes are of counted buffers, the graph and the scores in memory included: drawing "
      "from "
      "all edges needs them there, or in a mapped file, which is not counted."};
  return record;
}

}  // namespace spex
