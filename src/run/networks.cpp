#include <spex/run/networks.h>
#include <spex/run/phases.h>

#include <algorithm>
#include <cmath>

namespace spex {
namespace {

// log of the mean of exp(logs), also where all of those are tiny.
double log_mean(const std::vector<double>& logs) {
  double largest = *std::max_element(logs.begin(), logs.end()), sum = 0;
  for (double each : logs) sum += std::exp(each - largest);
  return largest + std::log(sum / static_cast<double>(logs.size()));
}

double log_sum(ConstMatrixView row) {
  double largest = *std::max_element(row.data, row.data + row.cols), sum = 0;
  for (size_t c = 0; c < row.cols; ++c) sum += std::exp(row(0, c) - largest);
  return largest + std::log(sum);
}

// A class of several: the log of its probability is a logit.
void average_shares(std::span<const Matrix> logits, size_t r, float* out) {
  size_t columns = logits.front().cols();
  std::vector<double> sums;
  for (const Matrix& each : logits) sums.push_back(log_sum(each.view().block(r, 1)));
  std::vector<double> logs(logits.size());
  for (size_t c = 0; c < columns; ++c) {
    for (size_t i = 0; i < logits.size(); ++i) logs[i] = logits[i](r, c) - sums[i];
    out[c] = static_cast<float>(log_mean(logs));
  }
}

// A probability of its own in each column: log(p / (1 - p)).
void average_odds(std::span<const Matrix> logits, size_t r, float* out) {
  std::vector<double> yes(logits.size()), no(logits.size());
  for (size_t c = 0; c < logits.front().cols(); ++c) {
    for (size_t i = 0; i < logits.size(); ++i) {
      double logit = logits[i](r, c);
      yes[i] = std::min(logit, 0.0) - std::log1p(std::exp(-std::abs(logit)));
      no[i] = yes[i] - logit;
    }
    out[c] = static_cast<float>(log_mean(yes) - log_mean(no));
  }
}

void average_values(std::span<const Matrix> logits, size_t r, float* out) {
  for (size_t c = 0; c < logits.front().cols(); ++c) {
    double sum = 0;
    for (const Matrix& each : logits) sum += each(r, c);
    out[c] = static_cast<float>(sum / static_cast<double>(logits.size()));
  }
}

}  // namespace

TrainedNetwork open_network(const std::filesystem::path& file) {
  SavedModel saved = load_model(file);
  std::unique_ptr<Model> model = saved.make();
  return {std::move(saved), std::move(model)};
}

Matrix average_logits(std::vector<Matrix> logits, Task task) {
  if (logits.size() == 1) return std::move(logits.front());
  Matrix out(logits.front().rows(), logits.front().cols(), MemoryTag::activations);
  bool one_of_many = task == Task::classes && out.cols() > 1;
  auto average = task == Task::regression ? average_values
                 : one_of_many            ? average_shares
                                          : average_odds;
  for (size_t r = 0; r < out.rows(); ++r) average(logits, r, out.view().row(r));
  return out;
}

Matrix logits_of(std::span<const TrainedNetwork> networks, const Ground& ground,
                 std::span<const NodeId> nodes, size_t batch, size_t sample) {
  std::vector<Matrix> logits;
  for (const auto& [saved, model] : networks) {
    size_t apart = saved.phase.model->needs().sampling.resample_every;
    logits.push_back(predict_logits(saved.phase, *model, ground, saved.seed,
                                    saved.best_epoch + sample * apart, saved.temperature, nodes,
                                    batch));
  }
  return average_logits(std::move(logits), networks.front().saved.meaning.task);
}

}  // namespace spex
