#include <spex/run/phases.h>

#include <algorithm>

namespace spex {
namespace {

constexpr size_t kBatch = 1000;
constexpr size_t kWholeUpTo = 200'000;  // nodes

AdamOptions adam(const Recipe& recipe) {
  AdamOptions options;
  options.weight_decay = recipe.weight_decay;
  options.decay = recipe.decay;
  return options;
}

// A batch that does not compute more than is asked for, where the model can be run on one; else
// what training used, whose evaluation is of the whole graph. Where training drew from the graph's
// own edges, so does prediction: a batch of all nodes would see all.
size_t prediction_batch(const Phase& phase, const Ground& ground, size_t asked, size_t batch) {
  Needs needs = phase.model->needs();
  if (needs.batching == Batching::none || needs.evaluates_whole()) return phase.recipe.batch_size;
  size_t nodes = ground.data.nodes(), trained = phase.recipe.batch_size;
  bool draws_local = needs.batching == Batching::sampled && needs.local;
  if (draws_local && (trained == 0 || trained >= nodes)) return 0;
  if (batch == 0) batch = std::max<size_t>(1, nodes <= kWholeUpTo ? asked : kBatch);
  return draws_local ? std::min(batch, nodes - 1) : batch;
}

std::unique_ptr<Batches> prediction_batches(const Phase& phase, const Ground& ground, size_t seed,
                                            size_t asked, size_t batch) {
  size_t size = prediction_batch(phase, ground, asked, batch);
  return make_batches(ground, {}, phase.model->needs(), {size, seed});
}

// Of the stages that a model shows, the last two: the last one may be its outputs.
void keep_last_two(std::vector<Matrix>& stages, ConstMatrixView value) {
  if (stages.size() == 2) stages.erase(stages.begin());
  Matrix kept(value.rows, value.cols, MemoryTag::activations);
  copy(kept, value);
  stages.push_back(std::move(kept));
}

bool same_numbers(ConstMatrixView a, ConstMatrixView b) {
  if (a.rows != b.rows || a.cols != b.cols) return false;
  for (size_t r = 0; r < a.rows; ++r)
    if (!std::equal(a.row(r), a.row(r) + a.cols, b.row(r))) return false;
  return true;
}

// The last stage that is not the outputs, if its rows are those of the outputs (and of virtual
// nodes).
Matrix* last_before(std::vector<Matrix>& stages, ConstMatrixView outputs, size_t virtual_nodes) {
  for (auto stage = stages.rbegin(); stage != stages.rend(); ++stage) {
    if (same_numbers(*stage, outputs)) continue;
    bool fits = stage->rows() == outputs.rows || stage->rows() == outputs.rows + virtual_nodes;
    return fits ? &*stage : nullptr;
  }
  return nullptr;
}

}  // namespace

Shape shape_of(const Ground& ground, const Config& config) {
  Objective objective(ground.data.labels, config.split.metric);
  return {feature_count(ground.data.features), objective.outputs(),
          ground.attention.nodes() > 0 ? ground.attention.types : 0, ground.data.nodes(),
          ground.attention.features.count};
}

bool train_phase(const Phase& phase, Model& model, const Problem& problem, const Config& config,
                 size_t seed, TrainState& state, const TrainerHooks& hooks) {
  Objective objective(problem.data.labels, config.split.metric, problem.preparation.targets);
  if (phase.recipe.class_weights == ClassWeights::balanced)
    objective.balance(problem.split.train.span());
  if (phase.recipe.class_weights == ClassWeights::validation)
    objective.adapt(problem.split.train.span(), problem.split.validation.span());
  Adam optimiser(model.parameters(), adam(phase.recipe));
  auto batches = make_batches(problem, problem.split.train.span(), phase.model->needs(),
                              {phase.recipe.batch_size, seed, phase.recipe.norm_over_all});
  Training training{model, objective, optimiser, *batches, problem.data.nodes(), phase.recipe.clip,
                    seed};
  return Trainer(phase, problem.split, training).run(state, hooks);
}

Scores attention_scores(Model& model, const Phase& phase, const Ground& ground, float temperature) {
  std::vector<Buffer<Half>> layers;
  for (size_t l = 0; l < phase.model->needs().layers; ++l)
    layers.emplace_back(ground.attention.edges(), MemoryTag::scores);
  Neighbourhood neighbourhood = whole_neighbourhood(ground.graphs());
  neighbourhood.scores = layers;
  Pass pass;
  pass.temperature = temperature;
  Tape tape(false);
  model.forward(tape, whole_input(ground.data.features), neighbourhood, pass);
  Scores scores;
  for (Buffer<Half>& layer : layers) scores.layers.emplace_back(std::move(layer));
  return scores;
}

// The estimator itself, run over samples drawn by its own scores: what it finds by an average over
// many neighbours is lost there, as it will be in the network that draws by them.
double validation_of_samples(Model& model, const Phase& phase, const Problem& problem,
                             const Config& config, float temperature) {
  constexpr size_t kSamples = 5;
  Needs needs = phase.model->needs();
  needs.batching = Batching::sampled;
  needs.sampling = config.final().model->needs().sampling;
  std::erase(needs.sampling.degrees, 0);  // of layers that do not attend
  needs.sampling.degrees.resize(needs.layers, needs.sampling.degrees.back());
  needs.sampling.resample_every = 1;
  needs.sampling.log_scores = false;
  Ground ground = problem;
  ground.scores = attention_scores(model, phase, problem, temperature);
  auto batches = make_batches(ground, {}, needs, {config.final().recipe.batch_size, config.seed});
  Objective objective(problem.data.labels, config.split.metric, problem.preparation.targets);
  Matrix logits = Matrix::zeros(problem.data.nodes(), objective.outputs(), MemoryTag::activations);
  std::span<const NodeId> nodes = problem.split.validation.span();
  Pass pass;
  pass.temperature = temperature;
  double sum = 0;
  for (pass.epoch = 0; pass.epoch < kSamples; ++pass.epoch) {
    Matrix found = evaluate(model, *batches, pass, nodes);
    for (size_t i = 0; i < nodes.size(); ++i)
      copy(logits.view().block(nodes[i], 1), found.view().block(i, 1));
    sum += objective.score(logits, nodes);
  }
  return sum / kSamples;
}

std::optional<Estimate> estimate_scores(const Problem& problem, const Config& config,
                                        const TrainerHooks& hooks) {
  const Phase& phase = config.phases.front();
  Shape shape = shape_of(problem, config);
  TrainState best;
  double merit = -1e30;
  size_t tries = phase.model->tries();
  for (size_t t = 0; t < tries && merit < kPerfect; ++t) {
    std::unique_ptr<Model> model = phase.model->make(shape, config.seed + t);
    TrainState state;
    if (!train_phase(phase, *model, problem, config, config.seed + t, state, hooks)) return {};
    double found =
        tries == 1 ? state.best_validation
                   : validation_of_samples(*model, phase, problem, config, state.best_temperature);
    if (found > merit) merit = found, best = std::move(state);
  }
  std::unique_ptr<Model> model = phase.model->make(shape, config.seed);
  load_state(*model, best.best);
  return Estimate{attention_scores(*model, phase, problem, best.best_temperature),
                  best.best_validation, best.best_test};
}

Matrix predict_logits(const Phase& phase, Model& model, const Ground& ground, size_t seed,
                      size_t epoch, float temperature, std::span<const NodeId> nodes,
                      size_t batch) {
  auto batches = prediction_batches(phase, ground, seed, nodes.size(), batch);
  Pass pass;
  pass.epoch = epoch;
  pass.temperature = temperature;
  return evaluate(model, *batches, pass, nodes);
}

Matrix predict_embeddings(const Phase& phase, Model& model, const Ground& ground, size_t seed,
                          size_t epoch, float temperature, std::span<const NodeId> nodes,
                          size_t batch) {
  auto batches = prediction_batches(phase, ground, seed, nodes.size(), batch);
  return collect_rows(*batches, epoch, nodes, [&](const Step& step) {
    std::vector<Matrix> stages;
    Pass pass;
    pass.epoch = epoch;
    pass.temperature = temperature;
    pass.inspect = [&](std::string_view, ConstMatrixView value) { keep_last_two(stages, value); };
    Tape tape(false);
    Var out = model.forward(tape, step.input, *step.neighbourhood, pass);
    Matrix* last = last_before(stages, out.value(), step.neighbourhood->virtual_nodes);
    return last ? tape.constant(std::move(*last)) : Var{};
  });
}

}  // namespace spex
