#include <spex/core/threads.h>
#include <spex/run/networks.h>
#include <spex/run/phases.h>

#include <algorithm>
#include <cmath>

namespace spex {
namespace {

constexpr size_t kBlockRows = 1024;

// log(exp(a) + exp(b)), also where both are tiny.
double log_add(double a, double b) {
  return std::max(a, b) + std::log1p(std::exp(-std::abs(a - b)));
}

double log_sum(ConstMatrixView row) {
  double largest = *std::max_element(row.data, row.data + row.cols), sum = 0;
  for (size_t c = 0; c < row.cols; ++c) sum += std::exp(row(0, c) - largest);
  return largest + std::log(sum);
}

// The log of a probability whose log(p / (1 - p)) is known.
double log_probability(double logit) {
  return std::min(logit, 0.0) - std::log1p(std::exp(-std::abs(logit)));
}

}  // namespace

TrainedNetwork open_network(const std::filesystem::path& file) {
  TrainedNetwork network{load_model(file), nullptr};
  network.model = network.saved.make();
  network.saved.state.clear();  // the model has it
  return network;
}

void LogitAverage::add(Matrix logits) {
  if (count_++ == 0) {
    sum_ = std::move(logits);
    return;
  }
  if (count_ == 2) {  // of one network, logits stay what they are
    Matrix first = std::move(sum_);
    sum_ = Matrix(first.rows(), first.cols(), MemoryTag::activations);
    if (task_ == Task::binary_labels || one_logit(first))
      no_ = Matrix(first.rows(), first.cols(), MemoryTag::activations);
    fill(sum_, task_ == Task::regression ? 0.0F : kNothing);
    fill(no_, kNothing);
    accumulate(first);
  }
  accumulate(logits);
}

// Of classes, sum_ has the logs of summed probabilities; where each column has a probability of its
// own, no_ has those of 1 less it.
void LogitAverage::accumulate(const Matrix& logits) {
  parallel_for(logits.rows(), kBlockRows, [&](size_t begin, size_t end) {
    for (size_t r = begin; r < end; ++r) {
      bool one_of_many = task_ == Task::classes && no_.empty();
      double all = one_of_many ? log_sum(logits.view().block(r, 1)) : 0.0;
      for (size_t c = 0; c < logits.cols(); ++c) {
        double logit = logits(r, c);
        if (task_ == Task::regression) {
          sum_(r, c) += logits(r, c);
        } else if (one_of_many) {
          sum_(r, c) = static_cast<float>(log_add(sum_(r, c), logit - all));
        } else {
          sum_(r, c) = static_cast<float>(log_add(sum_(r, c), log_probability(logit)));
          no_(r, c) = static_cast<float>(log_add(no_(r, c), log_probability(-logit)));
        }
      }
    }
  });
}

// Logs of sums will do for classes: what is added to all logits of a row changes no probability.
Matrix LogitAverage::take() {
  if (count_ > 1 && task_ == Task::regression)
    for (float& value : sum_.span()) value /= static_cast<float>(count_);
  else if (!no_.empty())
    for (size_t i = 0; i < sum_.size(); ++i) sum_.span()[i] -= no_.span()[i];
  return std::move(sum_);
}

Matrix placed(ConstMatrixView rows, std::span<const NodeId> nodes, size_t count) {
  Matrix all = Matrix::zeros(count, rows.cols, MemoryTag::activations);
  for (size_t i = 0; i < nodes.size(); ++i) copy(all.view().block(nodes[i], 1), rows.block(i, 1));
  return all;
}

Matrix logits_of(std::span<const TrainedNetwork> networks, const Ground& ground,
                 std::span<const NodeId> nodes, size_t batch, size_t sample) {
  LogitAverage average(networks.front().saved.meaning.task);
  for (const auto& [saved, model] : networks) {
    size_t apart = saved.phase.model->needs().sampling.resample_every;
    average.add(predict_logits(saved.phase, *model, ground, saved.seed,
                               saved.best_epoch + sample * apart, saved.temperature, nodes, batch));
  }
  return average.take();
}

}  // namespace spex
