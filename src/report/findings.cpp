#include "report/findings.h"

#include <spex/core/error.h>
#include <spex/run/score_text.h>

#include <cmath>
#include <numeric>
#include <optional>

namespace spex {
namespace {

constexpr double kClearly = 0.005;   // half a percent: less is not worth a sentence
constexpr size_t kLongAgo = 10;      // epochs
constexpr double kManyNodes = 0.25;  // of all

std::string percent(double fraction) {
  return fmt::format("{:.1f}%", 100 * fraction);
}

// A value of the run's metric, or a difference of two.
std::string score(const RunSummary& s, double value) {
  return s.metric == "mae" ? score_text(s.metric, value) : percent(value);
}

void compare_with_baselines(std::vector<std::string>& out, const RunRecord& record) {
  const RunSummary& s = record.summary;
  double constant = record.details.constant_test;
  if (s.test_mean <= constant + kClearly && constant > 0)
    out.push_back(fmt::format("It is no better than one answer for all nodes, which reaches {}.",
                              score(s, constant)));
  double edgeless = record.details.edgeless_test;
  if (edgeless > s.test_mean - kClearly)
    out.push_back(
        fmt::format("A perceptron that sees no edges {}: {} against {}. The edges add "
                    "nothing, or the model does not use them.",
                    edgeless > s.test_mean + kClearly ? "is better" : "is as good",
                    score(s, edgeless), score(s, s.test_mean)));
  if (s.estimator.epochs > 0 && s.estimator_test > s.test_mean + kClearly)
    out.push_back(fmt::format("The estimator alone is better: {} against {}.",
                              score(s, s.estimator_test), score(s, s.test_mean)));
}

// The loss kept falling after the best epoch, and validation has been clearly worse since.
void overfitting(std::vector<std::string>& out, const RunRecord& record) {
  if (record.summary.seeds.empty()) return;
  const SeedResult& seed = record.summary.seeds.front();
  std::vector<EpochRecord> rows = first_training(record);
  std::erase_if(rows, [](const EpochRecord& row) { return std::isnan(row.validation); });
  if (rows.empty()) return;
  const EpochRecord* best = nullptr;
  for (const EpochRecord& row : rows)
    if (row.epoch == seed.best_epoch) best = &row;
  const EpochRecord& last = rows.back();
  if (best && last.epoch >= best->epoch + kLongAgo && last.train_loss < best->train_loss &&
      last.validation < best->validation - kClearly)
    out.push_back(
        fmt::format("Overfitting since epoch {}: the training loss went on falling, and validation "
                    "fell from {} "
                    "to {}. Fewer epochs, more dropout or weight decay may help.",
                    best->epoch, score(record.summary, best->validation),
                    score(record.summary, last.validation)));
  if (best && best->epoch + 1 >= last.epoch && rows.size() > kLongAgo)
    out.emplace_back("The last epoch was the best: more epochs may help.");
}

// How much of the attention of a layer's nodes is on one neighbour, on several that tie, or on all alike.
void attention(std::vector<std::string>& out, const RunDetails& details) {
  for (size_t l = 0; l < details.attention.size(); ++l) {
    const auto& bins = details.attention[l].entropy_histogram;
    double all = std::accumulate(bins.begin(), bins.end(), 0.0);
    if (all == 0) continue;
    if (bins.front() > all / 2)
      out.push_back(fmt::format("In layer {} {} of the nodes look at a single neighbour.", l + 1,
                                percent(bins.front() / all)));
    if (details.attention[l].tied > kManyNodes)
      out.push_back(fmt::format(
          "In layer {} {} of the nodes have several neighbours with the same largest score: their "
          "logits are at the clamp, or those neighbours are alike.",
          l + 1, percent(details.attention[l].tied)));
    if (bins.back() > all / 2)
      out.push_back(
          fmt::format("In layer {} {} of the nodes look at all their neighbours alike: the "
                      "estimator does not tell them apart there.",
                      l + 1, percent(bins.back() / all)));
  }
}

void classes_never_found(std::vector<std::string>& out, const RunDetails& details) {
  std::string names;
  for (size_t c = 0; c < details.confusion.size(); ++c) {
    const auto& row = details.confusion[c];
    size_t nodes = std::accumulate(row.begin(), row.end(), size_t{0});
    if (nodes > 0 && row[c] == 0)
      names += (names.empty() ? "" : ", ") +
               (c < details.class_names.size() ? details.class_names[c] : fmt::format("{}", c));
  }
  if (!names.empty()) out.push_back(fmt::format("Never found among the test nodes: {}.", names));
}

void averaging(std::vector<std::string>& out, const RunRecord& record) {
  const RunSummary& s = record.summary;
  const std::vector<SeedResult>& networks = record.details.networks;
  if (networks.empty()) return;
  double alone = 0;
  for (const SeedResult& each : networks) alone += each.test / static_cast<double>(networks.size());
  out.push_back(
      fmt::format("What several networks predict is averaged: {} on the test nodes, where "
                  "one of them alone has {} on average.",
                  score(s, s.test_mean), score(s, alone)));
}

void spread(std::vector<std::string>& out, const RunSummary& s) {
  if (s.seeds.size() > 1 && s.test_std > 0.02)
    out.push_back(
        fmt::format("The seeds differ by {}: differences to other runs below that mean "
                    "little.",
                    score(s, s.test_std)));
}

}  // namespace

std::vector<std::string> findings(const RunRecord& record) {
  std::vector<std::string> out;
  compare_with_baselines(out, record);
  overfitting(out, record);
  classes_never_found(out, record.details);
  attention(out, record.details);
  averaging(out, record);
  spread(out, record.summary);
  return out;
}

}  // namespace spex
