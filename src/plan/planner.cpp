#include <spex/core/error.h>
#include <spex/core/stopwatch.h>
#include <spex/core/text.h>
#include <spex/plan/planner.h>

#include <algorithm>
#include <cmath>

#include "plan/probe.h"

namespace spex {
namespace {

constexpr double kFloat = sizeof(float);

double feature_bytes(const PlanInput& in) {
  return in.nonzeros ? 8.0 * static_cast<double>(in.nonzeros + in.nodes)
                     : kFloat * static_cast<double>(in.features * in.nodes);
}

// Of the graph made undirected, with self-loops.
double local_edges(const PlanInput& in) {
  return static_cast<double>(in.edges) * (in.symmetric ? 1.0 : 2.0) + static_cast<double>(in.nodes);
}

// What the models see where features of several hops take the place of the features.
PlanInput with_hops(const PlanInput& in, const Config& config) {
  size_t hops = 0, eigenvectors = 0;
  for (const Phase* phase : phases_to_train(config, in.scores_given)) {
    hops = std::max(hops, phase->model->needs().hops);
    eigenvectors = std::max(eigenvectors, phase->model->needs().eigenvectors);
  }
  if (hops == 0) return in;
  PlanInput seen = in;
  seen.features = (in.features + eigenvectors) * (hops + 1);
  seen.nonzeros = 0;
  size_t replaced = std::min(in.resident_bytes, static_cast<size_t>(feature_bytes(in)));
  seen.resident_bytes = in.resident_bytes - replaced + static_cast<size_t>(feature_bytes(seen));
  return seen;
}

// Bytes of an edge's features, where the model uses them.
double edge_feature_bytes(const PlanInput& in, const Needs& needs) {
  return needs.edge_features ? kFloat * static_cast<double>(in.edge_features) : 0.0;
}

// Neighbours, offsets and two segment ends per node; the transpose of a symmetric graph is itself.
// Edge features are the data's, but for those of a transpose.
double graph_bytes(const PlanInput& in, const Config& config) {
  double nodes = static_cast<double>(in.nodes), bytes = 0;
  bool attention = false, local = false;
  auto add = [&](const Needs& needs) {
    double one = 4.0 * attention_edges(in, needs, config.expander) + 24.0 * nodes;
    double turned = one + edge_feature_bytes(in, needs) * static_cast<double>(in.edges);
    bool one_way = in.symmetric || !needs.ball.empty();
    if (needs.attention && !attention) bytes += one_way ? one : one + turned;
    if (needs.local && !local) bytes += 4.0 * local_edges(in) + 24.0 * nodes + 12.0 * nodes;
    attention |= needs.attention;
    local |= needs.local;
  };
  for (const Phase* phase : phases_to_train(config, in.scores_given)) add(phase->model->needs());
  for (const Phase& phase : network_phases(config)) add(phase.model->needs());
  return bytes;
}

// Values, gradients, two moments, and the state that was best so far with its copy on the way to a
// file.
double model_bytes(const StepCost& step) {
  return 4.0 * kFloat * step.parameters;
}

// What a batch's features and patterns take: twice, since the next one is being prepared.
double prepared_bytes(const PlanInput& in, const Needs& needs, const LayerNodes& nodes) {
  double features = in.nonzeros
                        ? 8.0 * static_cast<double>(in.nonzeros) / static_cast<double>(in.nodes)
                        : kFloat * static_cast<double>(in.features);
  double bytes = nodes[0] * features, own = edge_feature_bytes(in, needs);
  auto add = [&](const std::vector<size_t>& degrees, size_t l, double each) {
    if (!degrees.empty()) bytes += nodes[l + 1] * (each * static_cast<double>(degrees[l]) + 6.0);
  };
  for (size_t l = 0; l + 1 < nodes.size(); ++l) {
    add(needs.sampling.degrees, l, 4.0 + own);
    add(needs.sampling.local, l, 4.0);
  }
  return 2.0 * bytes;
}

bool at_once(const PlanInput& in, const Phase& phase) {
  size_t batch = phase.recipe.batch_size;
  return batch == 0 || batch >= in.nodes;
}

// The logits are copied when the pass is over.
double evaluation_bytes(const StepCost& step, double logits) {
  return std::max(step.evaluate_bytes, 2.0 * logits);
}

struct EpochCost {
  double bytes = 0, seconds = 0;
};

EpochCost whole_epoch(const PlanInput& in, const Phase& phase, const ExpanderConfig& expander) {
  Needs needs = phase.model->needs();
  size_t last = nodes_computed_last(needs, in.train_nodes, in.nodes);
  StepCost step = probe_whole(in, phase, expander, last);
  double nodes = static_cast<double>(in.nodes), bytes = 0, own = edge_feature_bytes(in, needs);
  for (size_t degree : needs.sampling.degrees)
    bytes += nodes * ((4.0 + own) * static_cast<double>(degree) + 6.0);
  if (last < in.nodes && needs.sampling.degrees.empty()) {  // a transpose of its own
    double share = static_cast<double>(last) / nodes;
    bytes += 4.0 * share * attention_edges(in, needs, expander) + 24.0 * nodes;
    if (own > 0) bytes += own * share * static_cast<double>(in.edges) + 8.0 * nodes;
    if (needs.local) bytes += 4.0 * share * static_cast<double>(in.edges) + 24.0 * nodes;
  }
  double logits = kFloat * static_cast<double>(in.outputs) * nodes;
  return {bytes + model_bytes(step) + std::max(step.train_bytes, evaluation_bytes(step, logits)),
          step.train_seconds +
              step.evaluate_seconds / static_cast<double>(phase.recipe.evaluate_every)};
}

// An epoch's batches, whatever their kind.
struct BatchCost {
  StepCost step;
  double steps = 0;
  double prepared_bytes = 0;  // of batches that wait for their turn
  double kept_bytes = 0;      // throughout
};

BatchCost batch_cost(const PlanInput& in, const Phase& phase, const ExpanderConfig& expander) {
  Needs needs = phase.model->needs();
  size_t batch = phase.recipe.batch_size;
  auto steps_over = [&](size_t nodes, size_t each) {
    return std::ceil(static_cast<double>(nodes) / static_cast<double>(each));
  };
  if (needs.batching == Batching::sampled) {
    LayerNodes layers = batch_nodes(in, needs.sampling, batch);
    return {probe_batch(in, phase, layers), steps_over(in.train_nodes, batch),
            prepared_bytes(in, needs, layers), 0.0};
  }
  if (needs.batching == Batching::subgraphs) {
    needs.subgraphs.draws = batch;
    return {probe_subgraph(in, phase, expander),
            steps_over(in.nodes, std::min(in.nodes, needs.subgraphs.nodes())), 0.0,
            2.0 * (static_cast<double>(in.nodes) + local_edges(in))};
  }
  bool rows = needs.batching == Batching::rows;
  return {probe_part(in, phase, expander, batch),
          steps_over(rows ? in.train_nodes : in.nodes, batch), 0.0, 0.0};
}

EpochCost batched_epoch(const PlanInput& in, const Phase& phase, const ExpanderConfig& expander) {
  Needs needs = phase.model->needs();
  double nodes = static_cast<double>(in.nodes);
  double logits = kFloat * static_cast<double>(in.outputs) * nodes;
  double every = static_cast<double>(phase.recipe.evaluate_every);
  BatchCost batch = batch_cost(in, phase, expander);
  double kept = model_bytes(batch.step) + batch.kept_bytes;
  EpochCost cost{kept + logits + 8.0 * nodes + batch.prepared_bytes + batch.step.train_bytes,
                 batch.steps * (batch.step.train_seconds + batch.step.evaluate_seconds / every)};
  if (!needs.evaluates_whole()) return cost;
  StepCost whole = probe_whole(in, phase, expander, in.nodes, kRowParts);
  cost.bytes = std::max(cost.bytes, kept + evaluation_bytes(whole, logits));
  cost.seconds = batch.steps * batch.step.train_seconds + whole.evaluate_seconds / every;
  return cost;
}

EpochCost epoch_cost(const PlanInput& in, const Phase& phase, const ExpanderConfig& expander) {
  EpochCost cost =
      at_once(in, phase) ? whole_epoch(in, phase, expander) : batched_epoch(in, phase, expander);
  Needs needs = phase.model->needs();
  if (needs.sampling.truncate > 0)
    cost.bytes += 2.0 * static_cast<double>(needs.layers) * attention_edges(in, needs, expander);
  return cost;
}

PhasePlan scorer_plan(const PlanInput& in, const Config& config, const Phase& phase, double base) {
  EpochCost epoch = epoch_cost(in, phase, config.expander);
  Needs needs = phase.model->needs();
  double edges = attention_edges(in, needs, config.expander);
  double bytes = std::max(epoch.bytes, 2.0 * edges * static_cast<double>(needs.layers));  // scores
  return {phase.name, static_cast<size_t>(base + bytes),
          epoch.seconds * static_cast<double>(phase.recipe.epochs * phase.model->tries())};
}

// Of networks that are trained one after the other the largest counts, and the time of all.
PhasePlan final_plan(const PlanInput& in, const Config& config, double base) {
  std::vector<Phase> networks = network_phases(config);
  PhasePlan plan{config.final().name, 0, 0};
  double bytes = 0;
  for (size_t i = 0; i < networks.size(); ++i) {
    EpochCost epoch = epoch_cost(in, networks[i], config.expander);
    size_t takers = (config.members - i + networks.size() - 1) / networks.size();
    bytes = std::max(bytes, epoch.bytes);
    plan.seconds +=
        epoch.seconds * static_cast<double>(networks[i].recipe.epochs * takers * config.seeds);
  }
  if (config.members > 1)  // what is averaged: sums beside the logits
    bytes += 2.0 * kFloat * static_cast<double>(in.outputs * in.nodes);
  plan.bytes = static_cast<size_t>(base + bytes);
  return plan;
}

}  // namespace

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

Plan make_plan(const PlanInput& data, const Config& config) {
  Config told = config;
  tell_scorers(told);
  PlanInput in = with_hops(data, told);
  double base = static_cast<double>(in.resident_bytes) + graph_bytes(in, told);
  Plan plan;
  plan.batch_size = told.final().recipe.batch_size;
  for (const Phase* phase : phases_to_train(told, in.scores_given))
    plan.phases.push_back(phase == &told.final() ? final_plan(in, told, base)
                                                 : scorer_plan(in, told, *phase, base));
  return plan;
}

Plan fit_plan(const PlanInput& in, Config& config, size_t memory) {
  Plan plan = make_plan(in, config);
  if (plan.peak_bytes() <= memory) return plan;
  auto refuse = [&](size_t least, const std::string& change) {
    fail("the run needs at least {}, and {} were given; {}", format_size(least),
         format_size(memory), change);
  };
  // Recomputing costs time only; a smaller batch also changes what is learned.
  SettingList settings;
  config.list(settings);
  const Setting* recompute = settings.find(config.model + ".recompute");
  bool asked = recompute && recompute->text() == "true";
  auto set_recompute = [&](bool value) {
    if (recompute) recompute->set(value ? "true" : "false", recompute->name);
  };
  for (size_t i = 0; i + 1 < plan.phases.size(); ++i)
    if (plan.phases[i].bytes > memory)
      refuse(plan.phases[i].bytes,
             fmt::format("lower expander.degree, {0}.width or {0}.layers", plan.phases[i].name));
  bool batches = config.final().model->needs().batching != Batching::none;
  size_t& batch = config.final().recipe.batch_size;
  for (;; batch = (batch ? batch : in.nodes) / 2) {
    for (bool again : {asked, true}) {
      if (again != asked && !recompute) continue;
      set_recompute(again);
      plan = make_plan(in, config);
      if (plan.peak_bytes() <= memory) return plan;
    }
    if (!batches || batch == 1 || in.nodes <= 1) break;
  }
  refuse(plan.peak_bytes(),
         batches
             ? fmt::format("lower {0}.width, the layers or the degrees", config.model)
             : fmt::format("{0} is trained on the whole graph: lower {0}.width or its layers, or "
                           "choose a model that can be trained in batches (spex models)",
                           config.model));
  return plan;
}

std::string describe(const Plan& plan) {
  std::string text;
  for (const PhasePlan& phase : plan.phases)
    text += fmt::format("{:<12} {:>10}  about {}\n", phase.name, format_size(phase.bytes),
                        format_duration(phase.seconds));
  return text + fmt::format("{:<12} {:>10}  about {}; {}\n", "in all",
                            format_size(plan.peak_bytes()), format_duration(plan.seconds()),
                            plan.batch_size ? fmt::format("batches of {}", plan.batch_size)
                                            : std::string("the whole graph at once"));
}

}  // namespace spex
