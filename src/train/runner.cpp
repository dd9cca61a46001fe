#include <spex/core/stopwatch.h>
#include <spex/core/threads.h>
#include <spex/train/runner.h>

#include <algorithm>
#include <cmath>
#include <future>
#include <limits>
#include <numeric>

namespace spex {
namespace {

// Runs `forward` with an inspector and returns the first stage with a value that is not finite.
std::string first_not_finite(Pass pass, const std::function<void(const Pass&)>& forward) {
  std::string found;
  pass.inspect = [&](std::string_view stage, ConstMatrixView value) {
    if (!found.empty()) return;
    for (size_t r = 0; r < value.rows; ++r)
      for (size_t c = 0; c < value.cols; ++c)
        if (!std::isfinite(value(r, c))) {
          found = stage;
          return;
        }
  };
  forward(pass);
  return found;
}

// One optimisation step on a loss. A loss or gradient that is not finite changes nothing and is
// returned as NaN, so that the parameters that led to it can still be looked at.
double step(RunnerContext& c, Tape& tape, const Var& loss, double learning_rate) {
  double value = loss.value()(0, 0);
  if (!std::isfinite(value)) return std::numeric_limits<double>::quiet_NaN();
  c.network.parameters().zero_gradients();
  tape.backward(loss);
  double norm = clip_gradients(c.network.parameters(), c.clip);
  if (!std::isfinite(norm)) return std::numeric_limits<double>::quiet_NaN();
  c.optimiser.step(static_cast<float>(learning_rate));
  return value;
}

Pass training_pass(const RunnerContext& c, const EpochSettings& settings) {
  Pass pass;
  pass.training = true;
  pass.temperature = settings.temperature;
  pass.seed = c.seed;
  pass.step = static_cast<uint32_t>(c.optimiser.steps());
  return pass;
}

Pass evaluation_pass(const EpochSettings& settings) {
  Pass pass;
  pass.temperature = settings.temperature;
  return pass;
}

Matrix copy_of(ConstMatrixView values, size_t rows) {
  Matrix result(rows, values.cols, MemoryTag::activations);
  copy(result, values.block(0, rows));
  return result;
}

// The nodes that the last layer computes in training, in order; none: all of them.
std::vector<NodeId> trained_part(const RunnerContext& c) {
  std::span<const NodeId> train = c.split.train.span();
  size_t computed = nodes_computed_last(c.network.options().norm, train.size(), c.data.nodes());
  std::vector<NodeId> nodes;
  if (computed < c.data.nodes()) nodes.assign(train.begin(), train.end());
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

class FullGraphRunner : public Runner {
 public:
  FullGraphRunner(RunnerContext context, const AttentionGraph& graph,
                  const AttentionGraph& transposed)
      : c_(context),
        plan_(full_attention(graph, transposed)),
        training_plan_(plan_),
        input_(whole_input(context.data.features)) {
    std::vector<NodeId> part = trained_part(c_);
    if (part.empty()) return;
    trained_ = choose_rows(transposed, std::move(part));
    training_plan_ = full_attention(graph, transposed, c_.network.options().layers - 1, trained_);
  }

  TrainedEpoch train(const EpochSettings& settings) override {
    Tape tape;
    Pass pass = training_pass(c_, settings);
    bool part = !trained_.nodes.empty();
    Var logits = c_.network.forward(tape, input_, training_plan_, pass);
    Var loss = part ? c_.objective.batch_loss(tape, logits, trained_.nodes)
                    : c_.objective.loss(tape, logits, c_.split.train.span());
    logits = {};
    return {step(c_, tape, loss, settings.learning_rate), 0.0};
  }

  Matrix evaluate(const EpochSettings& settings, std::span<const NodeId>) override {
    Tape tape(false);
    return copy_of(c_.network.forward(tape, input_, plan_, evaluation_pass(settings)).value(),
                   c_.data.nodes());
  }

  bool evaluates_all() const override { return true; }

  std::string find_not_finite(const EpochSettings& settings) override {
    return first_not_finite(training_pass(c_, settings), [&](const Pass& pass) {
      Tape tape(false);
      c_.network.forward(tape, input_, training_plan_, pass);
    });
  }

 private:
  RunnerContext c_;
  AttentionPlan plan_, training_plan_;
  ChosenRows trained_;  // what training lets the last layer compute; empty: all
  NetworkInput input_;
};

// A batch with its features, and the time its preparation took.
struct Prepared {
  Batch batch;
  std::unique_ptr<BatchFeatures> features;
  double seconds = 0;
};

class BatchRunner : public Runner {
 public:
  BatchRunner(RunnerContext context, BatchBuilder& builder, size_t batch_size,
              size_t resample_every)
      : c_(context),
        builder_(builder),
        batch_size_(batch_size == 0 ? context.data.nodes() : batch_size),
        resample_every_(std::max<size_t>(1, resample_every)),
        all_nodes_(whole() ? context.data.nodes() : 0) {
    std::iota(all_nodes_.begin(), all_nodes_.end(), 0U);
    if (whole()) trained_ = trained_part(c_);
  }

  TrainedEpoch train(const EpochSettings& settings) override {
    return whole() ? train_whole(settings) : train_batches(settings);
  }

  Matrix evaluate(const EpochSettings& settings, std::span<const NodeId> nodes) override {
    if (whole()) {
      sample_whole(settings);
      Tape tape(false);
      return copy_of(
          forward(tape, whole_batch_, whole_input(c_.data.features), evaluation_pass(settings))
              .value(),
          c_.data.nodes());
    }
    Matrix logits(c_.data.nodes(), c_.network.options().outputs, MemoryTag::activations);
    fill(logits, std::numeric_limits<float>::quiet_NaN());
    for_batches({nodes.begin(), nodes.end()}, settings, [&](const Prepared& prepared) {
      Tape tape(false);
      Var out =
          forward(tape, prepared.batch, prepared.features->input(), evaluation_pass(settings));
      for (size_t i = 0; i < prepared.batch.targets; ++i)
        copy(logits.view().block(prepared.batch.nodes[i], 1), out.value().block(i, 1));
    });
    return logits;
  }

  bool evaluates_all() const override { return whole(); }

  std::string find_not_finite(const EpochSettings& settings) override {
    if (whole()) {
      sample_whole(settings);
      NeighbourMatrix last = last_layer_trained();
      return first_not_finite(training_pass(c_, settings), [&](const Pass& pass) {
        Tape tape(false);
        train_forward(tape, last, pass);
      });
    }
    std::string found;
    std::vector<NodeId> nodes(c_.split.train.begin(), c_.split.train.end());
    for_batches(nodes, settings, [&](const Prepared& prepared) {
      if (!found.empty()) return;
      found = first_not_finite(training_pass(c_, settings), [&](const Pass& pass) {
        Tape tape(false);
        forward(tape, prepared.batch, prepared.features->input(), pass);
      });
    });
    return found;
  }

 private:
  bool whole() const { return batch_size_ >= c_.data.nodes(); }
  uint32_t sample_epoch(const EpochSettings& settings) const {
    return static_cast<uint32_t>(settings.epoch / resample_every_);
  }

  Var forward(Tape& tape, const Batch& batch, const NetworkInput& input, const Pass& pass) {
    return c_.network.forward(tape, input, sampled_attention(batch.layers), pass);
  }

  // One sample of the whole graph serves training, validation and test of an epoch.
  double sample_whole(const EpochSettings& settings) {
    Stopwatch watch;
    if (whole_batch_.layers.empty() || whole_sample_ != sample_epoch(settings)) {
      whole_sample_ = sample_epoch(settings);
      whole_batch_ = {};  // before the new one: two samples are never held
      whole_batch_ = builder_.build(all_nodes_, whole_sample_);
    }
    return watch.seconds();
  }

  NeighbourMatrix last_layer_trained() const {
    return trained_.empty() ? NeighbourMatrix{} : choose_rows(whole_batch_.layers.back(), trained_);
  }

  // `last` is last_layer_trained() and must outlive the tape.
  Var train_forward(Tape& tape, const NeighbourMatrix& last, const Pass& pass) {
    AttentionPlan plan = trained_.empty() ? sampled_attention(whole_batch_.layers)
                                          : sampled_attention(whole_batch_.layers, last, trained_);
    return c_.network.forward(tape, whole_input(c_.data.features), plan, pass);
  }

  TrainedEpoch train_whole(const EpochSettings& settings) {
    double seconds = sample_whole(settings);
    NeighbourMatrix last = last_layer_trained();
    Tape tape;
    Var logits = train_forward(tape, last, training_pass(c_, settings));
    Var loss = trained_.empty() ? c_.objective.loss(tape, logits, c_.split.train.span())
                                : c_.objective.batch_loss(tape, logits, trained_);
    logits = {};
    return {step(c_, tape, loss, settings.learning_rate), seconds};
  }

  TrainedEpoch train_batches(const EpochSettings& settings) {
    Random random(c_.seed, Purpose::batch_order, static_cast<uint32_t>(settings.epoch));
    std::vector<NodeId> nodes;
    nodes.reserve(c_.split.train.size());
    for (uint32_t at : random_permutation(c_.split.train.size(), random))
      nodes.push_back(c_.split.train[at]);
    TrainedEpoch result;
    for_batches(nodes, settings, [&](const Prepared& prepared) {
      if (std::isnan(result.loss)) return;  // nothing may change once a step has failed
      Tape tape;
      Var logits =
          forward(tape, prepared.batch, prepared.features->input(), training_pass(c_, settings));
      std::span<const NodeId> targets(prepared.batch.nodes.data(), prepared.batch.targets);
      Var loss = c_.objective.batch_loss(tape, logits, targets);
      logits = {};
      result.loss +=
          step(c_, tape, loss, settings.learning_rate) * static_cast<double>(targets.size());
      result.sample_seconds += prepared.seconds;
    });
    result.loss /= static_cast<double>(nodes.size());
    return result;
  }

  Prepared prepare(std::span<const NodeId> targets, uint32_t epoch) {
    Stopwatch watch;
    Prepared prepared;
    prepared.batch = builder_.build(targets, epoch);
    prepared.features = std::make_unique<BatchFeatures>(c_.data.features, prepared.batch.nodes);
    prepared.seconds = watch.seconds();
    return prepared;
  }

  // Calls use(prepared) for every batch of `nodes`, while the next one is prepared on another
  // thread.
  void for_batches(const std::vector<NodeId>& nodes, const EpochSettings& settings,
                   const std::function<void(const Prepared&)>& use) {
    size_t count = (nodes.size() + batch_size_ - 1) / batch_size_;
    auto start_preparing = [&](size_t batch) {
      size_t begin = batch * batch_size_;
      std::span<const NodeId> targets(nodes.data() + begin,
                                      std::min(batch_size_, nodes.size() - begin));
      return std::async(std::launch::async, [this, targets, epoch = sample_epoch(settings)] {
        SerialScope alone;  // the others compute
        return prepare(targets, epoch);
      });
    };
    std::future<Prepared> next;
    if (count > 0) next = start_preparing(0);
    for (size_t batch = 0; batch < count; ++batch) {
      Prepared current = next.get();
      if (batch + 1 < count) next = start_preparing(batch + 1);
      use(current);
    }
  }

  RunnerContext c_;
  BatchBuilder& builder_;
  size_t batch_size_;
  size_t resample_every_;
  std::vector<NodeId> all_nodes_;
  std::vector<NodeId> trained_;  // what the last layer computes of the whole graph; empty: all
  Batch whole_batch_;
  uint32_t whole_sample_ = 0;
};

}  // namespace

size_t nodes_computed_last(Norm norm, size_t train_nodes, size_t nodes) {
  constexpr size_t kFewest = 256, kSmallGraph = 20'000;
  // Choosing rows has a cost: gathering them, a transpose of their own, and statistics of fewer
  // rows, for milliseconds on a small graph.
  bool worthwhile = nodes >= kSmallGraph && train_nodes >= kFewest && 4 * train_nodes < 3 * nodes;
  return worthwhile && norm != Norm::graph ? train_nodes : nodes;
}

std::unique_ptr<Runner> full_graph_runner(RunnerContext context, const AttentionGraph& graph,
                                          const AttentionGraph& transposed) {
  return std::make_unique<FullGraphRunner>(context, graph, transposed);
}

std::unique_ptr<Runner> batch_runner(RunnerContext context, BatchBuilder& builder,
                                     size_t batch_size, size_t resample_every) {
  return std::make_unique<BatchRunner>(context, builder, batch_size, resample_every);
}

}  // namespace spex
