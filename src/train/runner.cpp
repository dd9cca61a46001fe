#include <spex/ops/elementwise.h>
#include <spex/train/runner.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace spex {

Pass Runner::training_pass(const EpochSettings& settings) const {
  Pass pass;
  pass.training = true;
  pass.temperature = settings.temperature;
  pass.epoch = settings.epoch;
  pass.seed = t_.seed;
  pass.step = static_cast<uint32_t>(t_.optimiser.steps());
  return pass;
}

// A loss or gradient that is not finite changes nothing and is returned as NaN, so that the
// parameters that led to it can still be looked at.
double Runner::train_step(const Step& step, const EpochSettings& settings) {
  constexpr double kFailed = std::numeric_limits<double>::quiet_NaN();
  Tape tape;
  Pass pass = training_pass(settings);
  Var penalty;
  pass.penalty = &penalty;
  pass.counted = step.counted;
  Var logits = t_.model.forward(tape, step.input, *step.neighbourhood, pass);
  Var loss = t_.objective.loss(tape, logits, step.nodes, step.rows, step.weights);
  if (penalty) loss = add(tape, loss, penalty);
  logits = {};
  double value = loss.value()(0, 0);
  if (!std::isfinite(value)) return kFailed;
  t_.model.parameters().zero_gradients();
  tape.backward(loss);
  double norm = clip_gradients(t_.model.parameters(), t_.clip);
  if (!std::isfinite(norm)) return kFailed;
  t_.optimiser.step(settings.learning_rate);
  return value;
}

TrainedEpoch Runner::train(const EpochSettings& settings) {
  TrainedEpoch result;
  size_t rows = 0;
  t_.batches.train(settings.epoch, [&](const Step& step) {
    if (std::isnan(result.loss)) return;  // nothing may change once a step has failed
    result.loss += train_step(step, settings) * static_cast<double>(step.rows.size());
    result.sample_seconds += step.seconds;
    rows += step.rows.size();
  });
  result.loss /= static_cast<double>(rows);
  return result;
}

Matrix Runner::evaluate(const EpochSettings& settings, std::span<const NodeId> nodes) {
  Pass pass;
  pass.temperature = settings.temperature;
  pass.epoch = settings.epoch;
  if (t_.batches.evaluates_all()) {
    std::vector<NodeId> all(t_.nodes);
    std::iota(all.begin(), all.end(), 0U);
    return spex::evaluate(t_.model, t_.batches, pass, all);
  }
  Matrix part = spex::evaluate(t_.model, t_.batches, pass, nodes);
  Matrix logits(t_.nodes, part.cols(), MemoryTag::activations);
  fill(logits, std::numeric_limits<float>::quiet_NaN());
  for (size_t i = 0; i < nodes.size(); ++i)
    copy(logits.view().block(nodes[i], 1), part.view().block(i, 1));
  return logits;
}

std::string Runner::find_not_finite(const EpochSettings& settings) {
  std::string found;
  Pass pass = training_pass(settings);
  pass.inspect = [&](std::string_view stage, ConstMatrixView value) {
    for (size_t r = 0; r < value.rows && found.empty(); ++r)
      for (size_t c = 0; c < value.cols; ++c)
        if (!std::isfinite(value(r, c))) found = stage;
  };
  t_.batches.train(settings.epoch, [&](const Step& step) {
    if (!found.empty()) return;
    Tape tape(false);
    pass.counted = step.counted;
    t_.model.forward(tape, step.input, *step.neighbourhood, pass);
  });
  return found;
}

}  // namespace spex
