// The theorem that sampling preserves the attention matrix in spectral norm, and the proposition
// that noisy scores do, too: the error against the number of samples per row.
#include <fmt/format.h>
#include <spex/core/log.h>
#include <spex/core/random.h>
#include <spex/study/statistics.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "study/sampled_matrix.h"
#include "study/studies.h"
#include "study/training.h"

namespace spex {
namespace {

constexpr double kNoise = 2.0;  // a score is off by up to this factor, up or down
// With rows that add up to one again no score is below 1 / kNoise^2 of the true one.
constexpr double kAlpha = kNoise * kNoise;
constexpr double kSpectralSlope = -0.5, kSpectralSlack = 0.1, kTolerance = 0.05;
constexpr size_t kLargeGraph = 20'000'000;  // edges: one layer, two numbers of samples
const std::vector<size_t> kSamples = {1, 2, 4, 8, 16, 32, 64}, kSamplesOfLarge = {4, 16};

struct Way {
  std::string name;
  RowChances chances;
};

std::vector<Way> ways(const AttentionGraph& graph) {
  auto by_score = [](std::span<float> out, std::span<const float> scores, size_t) {
    std::copy(scores.begin(), scores.end(), out.begin());
  };
  auto alike = [](std::span<float> out, std::span<const float>, size_t) {
    std::fill(out.begin(), out.end(), 1.0F);
  };
  auto noisy = [&graph](std::span<float> out, std::span<const float> scores, size_t row) {
    Random random(0, Purpose::generator, 4);
    for (size_t j = 0; j < out.size(); ++j) {
      double exponent = 2 * random.uniform(graph.offsets[row] + j) - 1;
      out[j] = static_cast<float>(scores[j] * std::pow(kNoise, exponent));
    }
  };
  return {{"weighted", by_score}, {"noisy", noisy}, {"uniform", alike}};
}

struct Series {
  std::vector<double> ks, errors;
};

// The mean over layers and draws, relative to the norm of the matrix.
Series measure(StudyTable& table, const Way& way, const Problem& problem, size_t layers,
               const std::vector<double>& norms, size_t draws) {
  const AttentionGraph& graph = problem.attention;
  bool large = graph.edges() > kLargeGraph;
  Series series;
  for (size_t k : large ? kSamplesOfLarge : kSamples) {
    std::vector<double> errors;
    for (size_t l = 0; l < layers; ++l)
      for (size_t draw = 0; draw < draws; ++draw) {
        std::span<const Half> scores = problem.scores.layers[l].span();
        SampledMatrix sampled = sample_matrix(graph, scores, k, way.chances, draw * layers + l);
        errors.push_back(spectral_norm(graph, scores, &sampled, large ? 0.01 : 1e-3) / norms[l]);
      }
    Moments m = moments(errors);
    log("{}, k = {}: relative error {:.4f}", way.name, k, m.mean);
    auto number = static_cast<double>(k);
    table.add({way.name}, {number, m.mean, m.mean - m.deviation, m.mean + m.deviation});
    series.ks.push_back(number);
    series.errors.push_back(m.mean);
  }
  return series;
}

}  // namespace

StudyRecord study_spectral(const StudyRequest& request) {
  Config config = request.config;
  tell_scorers(config);
  Problem problem =
      problem_with_scores(request.data, config, request.out / "estimator", request.hooks);
  bool large = problem.attention.edges() > kLargeGraph;
  size_t layers = large ? 1 : problem.scores.layers.size();
  std::vector<double> norms;
  for (size_t l = 0; l < layers; ++l)
    norms.push_back(spectral_norm(problem.attention, problem.scores.layers[l].span(), nullptr,
                                  large ? 0.01 : 1e-4));
  StudyRecord record;
  record.table.names = {"scores"};
  record.table.values = {"k", "error", "low", "high"};
  std::vector<Series> all;
  for (const Way& way : ways(problem.attention))
    all.push_back(measure(record.table, way, problem, layers, norms, request.seeds));
  double slope = power(all[0].ks, all[0].errors), worst = 0;
  bool better = true;
  for (size_t i = 0; i < all[0].errors.size(); ++i) {
    worst = std::max(worst, all[1].errors[i] / all[0].errors[i]);
    better &= all[0].errors[i] < all[2].errors[i];
    record.table.add({"1 / sqrt(k)"},
                     {all[0].ks[i], all[0].errors[0] * std::sqrt(all[0].ks[0] / all[0].ks[i]),
                      std::nan(""), std::nan("")});
  }
  record.findings = {
      {"the error of samples drawn by scores falls like 1 / sqrt(k)",
       fmt::format("it falls with a power of k within {} of {}", kSpectralSlack, kSpectralSlope),
       fmt::format("k to the power {:.3f}; {:.3f} at k = {}, {:.3f} at k = {}", slope,
                   all[0].errors.front(), all[0].ks.front(), all[0].errors.back(),
                   all[0].ks.back()),
       std::abs(slope - kSpectralSlope) <= kSpectralSlack},
      {"scores within a constant factor do as well, up to a constant",
       fmt::format(
           "with scores at least 1/{0} of the true ones the error is at most sqrt({0}) = {1} "
           "times that with exact ones, for every k ({2:.0f}% allowed for chance)",
           kAlpha, std::sqrt(kAlpha), 100 * kTolerance),
       fmt::format("at most {:.2f} times", worst), worst <= std::sqrt(kAlpha) * (1 + kTolerance)},
      {"drawing by scores is better than drawing uniformly",
       "its error is below that of uniform samples for every k",
       fmt::format("{:.3f} against {:.3f} at k = {}", all[0].errors.back(), all[2].errors.back(),
                   all[0].ks.back()),
       better}};
  StudyFigure figure;
  figure.title = "Error of the sampled attention matrix";
  figure.sentence =
      "Spectral norm of the difference over that of the matrix; mean and deviation over layers and "
      "draws.";
  figure.kind = "lines";
  figure.x = "k";
  figure.y = "error";
  figure.series = "scores";
  figure.low = "low";
  figure.high = "high";
  figure.x_title = "samples per row, k";
  figure.y_title = "relative error in spectral norm";
  figure.log_x = figure.log_y = true;
  record.figures = {figure};
  record.choices = {fmt::format(
      "k draws with replacement from every row, where the theorem draws rows at random as well; {} "
      "draws per layer; {} of {} layers of the estimator that the preset trains. Norms by Lanczos, "
      "to a thousandth (a hundredth above {} M edges). Noise is a factor between 1/{} and {}.",
      request.seeds, layers, problem.scores.layers.size(), kLargeGraph / 1'000'000, kNoise,
      kNoise)};
  return record;
}

}  // namespace spex
