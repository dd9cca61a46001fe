#include <spex/core/error.h>
#include <spex/train/phases.h>

#include <optional>

namespace spex {
namespace {

constexpr float kExphormerClamp = 5.0F;

AdamWOptions adamw(const OptimiserConfig& config) {
  AdamWOptions options;
  options.weight_decay = static_cast<float>(config.weight_decay);
  return options;
}

std::optional<Scores> cut(const Scores* scores, const AttentionGraph& graph, size_t keep) {
  if (!scores || keep == 0) return std::nullopt;
  return truncate(*scores, graph, keep);
}

}  // namespace

SampledNeighbourhoods::SampledNeighbourhoods(const AttentionGraph& graph, const Scores* scores,
                                             const FinalConfig& config, size_t seed)
    : truncated_(cut(scores, graph, config.truncate)),
      sampler_(graph, truncated_ ? &*truncated_ : scores, config.sampling, seed),
      builder_(sampler_, config.degrees, config.log_scores) {}

NetworkOptions estimator_options(const Config& config, size_t inputs, size_t outputs,
                                 const AttentionGraph& graph) {
  const EstimatorConfig& e = config.estimator;
  NetworkOptions options;
  options.inputs = inputs;
  options.outputs = outputs;
  options.width = e.width;
  options.heads = 1;
  options.layers = e.layers > 0 ? e.layers : config.final.degrees.size();
  options.pre_layers = e.pre_layers;
  options.norm = e.norm;
  options.normalize_values = e.normalize_values;
  options.scale_by_width = e.scale_by_width;
  options.modulation = e.modulation;
  options.edge_types = graph.types;
  return options;
}

NetworkOptions final_options(const Config& config, size_t inputs, size_t outputs,
                             const AttentionGraph& graph) {
  const FinalConfig& f = config.final;
  NetworkOptions options;
  options.inputs = inputs;
  options.outputs = outputs;
  options.width = f.width;
  options.heads = f.heads;
  options.layers = f.degrees.size();
  options.pre_layers = f.pre_layers;
  options.post_layers = f.post_layers;
  options.norm = f.norm;
  options.dropout = static_cast<float>(f.dropout);
  options.recompute = f.recompute;
  options.edge_types = graph.types;
  if (config.model == Model::exphormer) {
    options.scale_by_width = true;
    options.clamp = kExphormerClamp;
    options.type_bias = false;
    options.virtual_nodes = graph.virtual_nodes;
  } else {
    options.log_scores = f.log_scores;
  }
  return options;
}

bool train_estimator(Network& network, const Problem& problem, const Config& config, size_t seed,
                     TrainState& state, const TrainerHooks& hooks) {
  const EstimatorConfig& e = config.estimator;
  Objective objective(problem.data.labels, config.split.metric);
  AdamW optimiser(network.parameters(), adamw(e.optimiser));
  RunnerContext context{problem.data, problem.split,    network, objective,
                        optimiser,    e.optimiser.clip, seed};
  auto runner = full_graph_runner(context, problem.graph, problem.transposed);
  TrainerOptions options;
  options.phase = "estimator";
  options.seed = seed;
  options.optimiser = e.optimiser;
  options.temperature = {e.lambda, e.gamma, e.tau_min};
  options.anneal = e.temperature;
  return Trainer(context, *runner, options).run(state, hooks);
}

bool train_final(Network& network, const Problem& problem, const Scores* scores,
                 const Config& config, size_t seed, TrainState& state, const TrainerHooks& hooks) {
  Objective objective(problem.data.labels, config.split.metric);
  AdamW optimiser(network.parameters(), adamw(config.final.optimiser));
  RunnerContext context{problem.data, problem.split, network,
                        objective,    optimiser,     config.final.optimiser.clip,
                        seed};
  TrainerOptions options;
  options.phase = "final";
  options.seed = seed;
  options.optimiser = config.final.optimiser;
  options.evaluate_every = std::max<size_t>(1, config.final.evaluate_every);
  if (config.model == Model::exphormer) {
    auto runner = full_graph_runner(context, problem.graph, problem.transposed);
    return Trainer(context, *runner, options).run(state, hooks);
  }
  SampledNeighbourhoods sampled(problem.graph, scores, config.final, seed);
  auto runner = batch_runner(context, sampled.builder(), config.final.batch_size,
                             config.final.resample_every);
  return Trainer(context, *runner, options).run(state, hooks);
}

Scores estimate_scores(Network& estimator, const AttentionGraph& graph,
                       const AttentionGraph& transposed, const Features& features,
                       float temperature) {
  std::vector<Buffer<Half>> layers;
  for (size_t l = 0; l < estimator.options().layers; ++l)
    layers.emplace_back(graph.edges(), MemoryTag::scores);
  Pass pass;
  pass.temperature = temperature;
  Tape tape(false);
  estimator.forward(tape, whole_input(features), scoring_attention(graph, transposed, layers),
                    pass);
  Scores scores;
  for (Buffer<Half>& layer : layers) scores.layers.emplace_back(std::move(layer));
  return scores;
}

}  // namespace spex
