// Floats per node, W being the width and s, q the nodes a layer reads and computes. A layer keeps
//   x, k, v: 3 W s;  q, attention's output, the sum before each norm, norm1's output: 5 W q;
//   the normalised values: W s;  one normaliser per head
// or, folded (one head, sampled):  x: W s;  a q for each edge type: 3 W q, and the other 4 W q.
// Backward frees the layers from the last to the first. While one is undone there is, besides,
//   in its second half the gradient of its output;
//   in attention, when the second half is gone, what undoing_attention counts.
#include <spex/core/error.h>
#include <spex/core/memory.h>
#include <spex/core/stopwatch.h>
#include <spex/train/objective.h>
#include <spex/train/planner.h>
#include <spex/train/problem.h>
#include <spex/train/runner.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

namespace spex {
namespace {

constexpr double kFloat = sizeof(float);
// Measured on two cores with AVX-512 (make bench): seconds per unit of work, scaled by the threads
// in use.
constexpr double kNarrowEdgeSeconds = 9e-9;  // an estimator's edge, forward and backward
constexpr double kWideEdgeSeconds = 1.2e-9;  // per float of width of an edge, forward and backward
constexpr double kFoldedEdgeSeconds = 0.8e-9;
constexpr double kNodeFloatSeconds = 2.4e-9;  // per float that a node keeps, through all operations
constexpr double kEvaluationShare = 1.0 / 3.0;  // a forward pass against forward and backward

size_t padded_head(size_t width, size_t heads) {
  size_t head = width / heads;
  if (heads == 1 && head <= 8) return 8;
  return head <= 4 ? 4 : (head + 7) / 8 * 8;
}

double attention_edges(const PlanInput& in, const Config& config) {
  double nodes = static_cast<double>(in.nodes);
  double expander = static_cast<double>(std::min(config.expander.degree, in.nodes - 1)) * nodes;
  double virtual_edges = config.model == Model::exphormer
                             ? 2.0 * nodes * static_cast<double>(config.final.virtual_nodes)
                             : 0.0;
  return static_cast<double>(in.edges) + expander + nodes + virtual_edges;
}

// Neighbours, offsets and two segment ends per node; the transpose of a symmetric graph is itself.
double graph_bytes(const PlanInput& in, const Config& config) {
  double one = 4.0 * attention_edges(in, config) + 24.0 * static_cast<double>(in.nodes);
  return in.symmetric ? one : 2.0 * one;
}

// One layer of a network: how much it keeps, and how much more undoing it needs, in floats.
struct LayerShape {
  size_t width, heads;
  bool normalized = false;  // the values
  bool folded = false;
  bool gathers = false;  // where it computes fewer nodes than it reads: they are not the first ones
  double w() const { return static_cast<double>(width); }
  double padded() const {
    return static_cast<double>(heads) * static_cast<double>(padded_head(width, heads));
  }

  double kept(double sources, double queries) const {
    double per_source = folded ? w() : (normalized ? 4.0 : 3.0) * w();
    double per_query = (folded ? 7.0 : 5.0) * w() + static_cast<double>(heads) +
                       (gathers && queries < sources ? w() : 0.0);
    return per_source * sources + per_query * queries;
  }
  // The gradient of the residual, g, delta, and the gradients of q, k and v, beside the packed
  // table and its rows; less what is gone: the output, both sums, norm1's output.
  double undoing_attention(double sources, double queries) const {
    bool packed = heads == 1 && width <= 8 && !folded;
    double table = packed ? 16.0 : padded() > w() ? 2.0 * padded() : 0.0;
    double copies = padded() > w() ? 3.0 * padded() : 0.0;
    double per_query = w() + padded() + (padded() > w() ? w() : 0.0) + static_cast<double>(heads) +
                       (folded ? 3.0 * padded() : w()) - 4.0 * w();
    double per_source = (folded ? 1.0 : 2.0) * padded() + table + copies;
    return per_query * queries + per_source * sources;
  }
  double undoing(double sources, double queries) const {
    return std::max(w() * queries, undoing_attention(sources, queries));
  }
};

// The most that lives at once in a step through all layers: nodes[l] are read by layer l and
// nodes[l + 1] computed. The loss holds the logits and their gradients.
double step_floats(const LayerShape& layer, const std::vector<double>& nodes, double before,
                   size_t outputs, bool recompute) {
  double kept = before, most = 0;
  for (size_t l = 0; l + 1 < nodes.size(); ++l) {
    double all = layer.kept(nodes[l], nodes[l + 1]);
    most = std::max(most, kept + all + layer.undoing(nodes[l], nodes[l + 1]));
    kept += recompute ? layer.w() * nodes[l] : all;
  }
  double logits = 2.0 * static_cast<double>(outputs) + layer.w();
  return std::max(most + layer.w() * nodes.back(), kept + logits * nodes.back());
}

// A pre- or post-layer keeps the input of its norm and of its row normalisation and, but for the
// first, whose linear map is joined with what stands before or whose input is kept anyway, its own.
double dense_floats(size_t width, size_t layers) {
  return layers == 0 ? 0.0 : static_cast<double>(width) * (3.0 * static_cast<double>(layers) - 1.0);
}

// The same number of nodes for every layer of the whole graph; the last entry is what is computed.
std::vector<double> whole_nodes(const PlanInput& in, size_t layers, Norm norm) {
  std::vector<double> nodes(layers + 1, static_cast<double>(in.nodes));
  nodes.back() = static_cast<double>(nodes_computed_last(norm, in.train_nodes, in.nodes));
  return nodes;
}

// The edges that all layers visit, and the transpose that the last one has of its own when it does
// not compute all nodes.
double visited_edges(const std::vector<double>& nodes, double edges) {
  double layers = static_cast<double>(nodes.size()) - 1.0;
  return edges * (layers - 1.0 + nodes.back() / nodes.front());
}
double chosen_bytes(const std::vector<double>& nodes, double edges) {
  if (nodes.back() == nodes.front()) return 0.0;
  return 4.0 * edges * nodes.back() / nodes.front() + 24.0 * nodes.front();
}

// How many nodes each layer of a batch reads, first layer first; the last entry is the batch
// itself. Draws that fall on a node twice count once: distinct nodes of m draws among N are N (1 -
// (1 - 1/N)^m).
std::vector<double> batch_nodes(const PlanInput& in, const Config& config, size_t batch) {
  const auto& degrees = config.final.degrees;
  if (batch == 0 || batch >= in.nodes) return whole_nodes(in, degrees.size(), config.final.norm);
  auto n = static_cast<double>(in.nodes);
  std::vector<double> nodes(degrees.size() + 1);
  nodes.back() = static_cast<double>(batch);
  for (size_t l = degrees.size(); l-- > 0;) {
    double draws = nodes[l + 1] * static_cast<double>(degrees[l] + 1);
    nodes[l] = std::max(nodes[l + 1], n * -std::expm1(-draws / n));
  }
  return nodes;
}

struct Work {
  double bytes, seconds;
};

double dense_nodes_floats(const FinalConfig& f, const std::vector<double>& nodes) {
  double front = std::max(static_cast<double>(f.width), dense_floats(f.width, f.pre_layers));
  return nodes.front() * (f.recompute ? 0.0 : front) +
         nodes.back() * dense_floats(f.width, f.post_layers);
}

// The layers, or the front when it is run again: what it keeps, its result and that one's gradient.
double final_floats(const FinalConfig& f, const LayerShape& layer, const std::vector<double>& nodes,
                    size_t outputs) {
  double layers = step_floats(layer, nodes, dense_nodes_floats(f, nodes), outputs, f.recompute);
  double front = nodes.front() * (dense_floats(f.width, f.pre_layers) + 2.0 * layer.w());
  return f.recompute ? std::max(layers, front) : layers;
}

// Recomputing adds a forward pass.
double repeated(const FinalConfig& f) {
  return f.recompute ? 1.0 + kEvaluationShare : 1.0;
}

// One training step on a batch (or on the whole graph).
Work final_step(const PlanInput& in, const Config& config, size_t batch) {
  const FinalConfig& f = config.final;
  std::vector<double> nodes = batch_nodes(in, config, batch);
  bool whole = batch == 0 || batch >= in.nodes;
  LayerShape layer{f.width, f.heads, false, f.heads == 1, whole};
  auto w = static_cast<double>(f.width);
  double floats = final_floats(f, layer, nodes, in.outputs);
  // A batch's features and patterns are there twice: the next batch is being prepared.
  double copies = whole ? 1.0 : 2.0;
  double bytes = whole ? 0.0 : 2.0 * nodes[0] * static_cast<double>(in.features) * kFloat;
  double seconds = 0, touched = dense_nodes_floats(f, nodes), transposed = 0;
  for (size_t l = 0; l < f.degrees.size(); ++l) {
    double sources = nodes[l], queries = nodes[l + 1];
    double sampled = queries * static_cast<double>(f.degrees[l]);
    double listed = whole ? sources + (queries < sources ? queries : 0.0) : copies * queries;
    bytes += (4.0 * static_cast<double>(f.degrees[l]) + 6.0) * listed;
    transposed = std::max(transposed, 4.0 * sampled + 48.0 * sources);
    seconds += sampled * w * (layer.folded ? kFoldedEdgeSeconds : kWideEdgeSeconds);
    touched += layer.kept(sources, queries);
  }
  seconds += touched * kNodeFloatSeconds;
  return {bytes + transposed + floats * kFloat, seconds * repeated(f)};
}

Work exphormer_step(const PlanInput& in, const Config& config) {
  const FinalConfig& f = config.final;
  LayerShape layer{f.width, f.heads, false, false, true};
  std::vector<double> nodes = whole_nodes(in, f.degrees.size(), f.norm);
  double touched = dense_nodes_floats(f, nodes);
  for (size_t l = 0; l + 1 < nodes.size(); ++l) touched += layer.kept(nodes[l], nodes[l + 1]);
  double edges = attention_edges(in, config);
  return {final_floats(f, layer, nodes, in.outputs) * kFloat + chosen_bytes(nodes, edges),
          repeated(f) *
              (touched * kNodeFloatSeconds +
               visited_edges(nodes, edges) * static_cast<double>(f.width) * kWideEdgeSeconds)};
}

PhasePlan estimator_plan(const PlanInput& in, const Config& config, double base) {
  const EstimatorConfig& e = config.estimator;
  size_t layers = e.layers > 0 ? e.layers : config.final.degrees.size();
  auto n = static_cast<double>(in.nodes);
  LayerShape layer{e.width, 1, e.normalize_values, false, true};
  std::vector<double> nodes = whole_nodes(in, layers, e.norm);
  double before = n * dense_floats(e.width, e.pre_layers);
  double floats = step_floats(layer, nodes, before, in.outputs, false);
  double edges = attention_edges(in, config);
  double bytes = floats * kFloat + chosen_bytes(nodes, edges);
  double scores = 2.0 * edges * static_cast<double>(layers);  // when training is over
  double step = visited_edges(nodes, edges) * kNarrowEdgeSeconds + floats * kNodeFloatSeconds;
  return {"estimator", static_cast<size_t>(base + std::max(bytes, scores)),
          step * (1.0 + kEvaluationShare) *
              static_cast<double>(e.optimiser.epochs * std::max<size_t>(1, e.tries))};
}

PhasePlan final_plan(const PlanInput& in, const Config& config, double base) {
  const FinalConfig& f = config.final;
  bool exphormer = config.model == Model::exphormer;
  Work step = exphormer ? exphormer_step(in, config) : final_step(in, config, f.batch_size);
  bool whole = exphormer || f.batch_size == 0 || f.batch_size >= in.nodes;
  double steps =
      whole ? 1.0
            : std::ceil(static_cast<double>(in.train_nodes) / static_cast<double>(f.batch_size));
  // Evaluation computes all nodes; of the whole graph, with at most six vectors for each at once.
  double evaluated = static_cast<double>(in.outputs + (whole ? 6 * f.width : 0)) *
                     static_cast<double>(in.nodes) * kFloat;
  double builder = exphormer ? 0.0 : 8.0 * static_cast<double>(in.nodes);
  if (f.truncate > 0)  // a copy of the scores, cut
    builder += 2.0 * static_cast<double>(f.degrees.size()) * attention_edges(in, config);
  return {"final", static_cast<size_t>(base + builder + std::max(step.bytes, evaluated)),
          step.seconds * steps * (1.0 + kEvaluationShare / static_cast<double>(f.evaluate_every)) *
              static_cast<double>(f.optimiser.epochs * config.seeds)};
}

}  // namespace

PlanInput plan_input(const Dataset& data, const Config& config) {
  Objective objective(data.labels, config.split.metric);
  PlanInput in;
  in.nodes = data.nodes();
  in.edges = data.graph.edges();
  in.features = feature_count(data.features);
  in.outputs = objective.outputs();
  in.train_nodes = choose_split(data, config.split).train.size();
  in.resident_bytes = memory_use().current;
  in.symmetric = data.graph.symmetric;
  return in;
}

size_t Plan::peak_bytes() const {
  size_t peak = 0;
  for (const PhasePlan& phase : phases) peak = std::max(peak, phase.bytes);
  return peak;
}

double Plan::seconds() const {
  double seconds = 0;
  for (const PhasePlan& phase : phases) seconds += phase.seconds;
  return seconds;
}

Plan make_plan(const PlanInput& in, const Config& config) {
  double base = static_cast<double>(in.resident_bytes) + graph_bytes(in, config);
  bool sampled = config.model == Model::spexphormer;
  Plan plan;
  plan.batch_size = sampled ? config.final.batch_size : 0;
  plan.recompute = config.final.recompute;
  if (needs_scores(config) && !in.scores_given)
    plan.phases.push_back(estimator_plan(in, config, base));
  plan.phases.push_back(final_plan(in, config, base));
  return plan;
}

Plan fit_plan(const PlanInput& in, Config& config, size_t memory) {
  Plan plan = make_plan(in, config);
  if (plan.peak_bytes() <= memory) return plan;
  auto refuse = [&](size_t least, const std::string& change) {
    fail("the run needs at least {}, and {} were given; {}", format_size(least),
         format_size(memory), change);
  };
  bool asked = std::exchange(config.final.recompute, true);
  plan = make_plan(in, config);
  if (config.model == Model::exphormer && plan.peak_bytes() <= memory) return plan;
  if (config.model == Model::exphormer)
    refuse(plan.peak_bytes(),
           "train --model spexphormer, or lower final.width, or the layers in final.degrees");
  for (const PhasePlan& phase : plan.phases)
    if (phase.name == "estimator" && phase.bytes > memory)
      refuse(phase.bytes, "lower expander.degree, estimator.width or estimator.layers");
  // Recomputing costs time only; a smaller batch also changes what is learned.
  for (size_t batch = config.final.batch_size;; batch = (batch ? batch : in.nodes) / 2) {
    config.final.batch_size = batch;
    for (bool recompute : {asked, true}) {
      config.final.recompute = recompute;
      plan = make_plan(in, config);
      if (plan.peak_bytes() <= memory) return plan;
    }
    if (batch == 1 || in.nodes <= 1) break;
  }
  refuse(plan.peak_bytes(), "lower expander.degree, final.width or final.degrees");
  return plan;
}

std::string describe(const Plan& plan) {
  std::string text;
  for (const PhasePlan& phase : plan.phases)
    text += fmt::format("{:<10} {:>10}  about {}\n", phase.name, format_size(phase.bytes),
                        format_duration(phase.seconds));
  return text + fmt::format("{:<10} {:>10}  about {}; {}{}\n", "in all",
                            format_size(plan.peak_bytes()), format_duration(plan.seconds()),
                            plan.batch_size ? fmt::format("batches of {}", plan.batch_size)
                                            : std::string("the whole graph at once"),
                            plan.recompute ? ", layers recomputed in backward" : "");
}

size_t parse_size(const std::string& text) {
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string unit(end, text.data() + text.size());
  std::erase(unit, ' ');
  constexpr std::pair<std::string_view, double> kUnits[] = {{"", 1.0},
                                                            {"B", 1.0},
                                                            {"K", 1024.0},
                                                            {"KB", 1e3},
                                                            {"KiB", 1024.0},
                                                            {"M", 1048576.0},
                                                            {"MB", 1e6},
                                                            {"MiB", 1048576.0},
                                                            {"G", 1073741824.0},
                                                            {"GB", 1e9},
                                                            {"GiB", 1073741824.0},
                                                            {"T", 1099511627776.0},
                                                            {"TB", 1e12},
                                                            {"TiB", 1099511627776.0}};
  auto found = std::find_if(std::begin(kUnits), std::end(kUnits),
                            [&](const auto& known) { return known.first == unit; });
  require(error == std::errc() && value > 0 && found != std::end(kUnits),
          "\"{}\" is not a size; write for example 2GiB or 800MB", text);
  return static_cast<size_t>(value * found->second);
}

std::string format_size(size_t bytes) {
  auto value = static_cast<double>(bytes);
  if (value >= 1e9) return fmt::format("{:.2f} GB", value * 1e-9);
  return fmt::format("{:.1f} MB", value * 1e-6);
}

}  // namespace spex
