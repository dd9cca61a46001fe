// Attention edges sampled per second, and the milliseconds to build and to transpose a batch:
// sampler_bench [nodes] [degree] [k].
#include <fmt/core.h>
#include <spex/core/half.h>
#include <spex/core/memory.h>
#include <spex/core/random.h>
#include <spex/core/threads.h>
#include <spex/sample/batch.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <numeric>

namespace {

using namespace spex;

// A random graph whose rows all have `degree` edges; the last of each is the self-loop.
AttentionGraph regular_graph(size_t nodes, size_t degree) {
  Random random(1, Purpose::test);
  Buffer<EdgeOffset> offsets(nodes + 1, MemoryTag::graph);
  Buffer<NodeId> neighbours(nodes * degree, MemoryTag::graph);
  Buffer<EdgeOffset> ends(2 * nodes, MemoryTag::graph);
  random.fill(neighbours.span(), 0);
  for (size_t i = 0; i <= nodes; ++i) offsets[i] = i * degree;
  for (NodeId& node : neighbours) node %= static_cast<NodeId>(nodes);
  for (size_t i = 0; i < nodes; ++i) {
    ends[i] = offsets[i] + degree / 2;
    ends[nodes + i] = offsets[i + 1] - 1;
    neighbours[offsets[i + 1] - 1] = static_cast<NodeId>(i);
  }
  return {std::move(offsets), std::move(neighbours), std::move(ends), 3, false, 0};
}

// Each row sums to one. Skewed: a random edge of the row has 0.999, the others share the rest.
Scores random_scores(const AttentionGraph& graph, bool skewed) {
  Random random(2, Purpose::test);
  Buffer<float> values(graph.edges(), MemoryTag::scores);
  for (size_t i = 0; i < graph.nodes(); ++i) {
    EdgeOffset begin = graph.offsets[i];
    size_t degree = graph.offsets[i + 1] - begin;
    size_t large = random.below(degree, i);
    for (size_t e = 0; e < degree; ++e)
      values[begin + e] = static_cast<float>(!skewed      ? random.uniform(begin + e) * 2 / degree
                                             : e == large ? 0.999
                                                          : 0.001 / (degree - 1));
  }
  Buffer<Half> half(graph.edges(), MemoryTag::scores);
  to_half(half.span(), values.span());
  Scores scores;
  scores.layers.emplace_back(std::move(half));
  return scores;
}

// The best of at least five runs, and of what fits in a second: other programs disturb.
template <class Work>
double best_seconds(Work work) {
  using Clock = std::chrono::steady_clock;
  std::chrono::duration<double> best(1e9), all(0);
  for (uint32_t repeat = 0; repeat < 5 || all.count() < 1.0; ++repeat) {
    auto begin = Clock::now();
    work(repeat);
    std::chrono::duration<double> seconds = Clock::now() - begin;
    best = std::min(best, seconds);
    all += seconds;
  }
  return best.count();
}

double sampling_rate(const Sampler& sampler, size_t k) {
  const AttentionGraph& graph = sampler.graph();
  double seconds = best_seconds([&](uint32_t epoch) {
    parallel_for(graph.nodes(), 256, [&](size_t begin, size_t end) {
      std::vector<EdgeOffset> edges(k);
      for (size_t i = begin; i < end; ++i)
        sampler.draw(static_cast<NodeId>(i), 0, k, epoch, edges.data());
    });
  });
  return static_cast<double>(graph.edges()) / seconds;
}

void time_batches(const Sampler& sampler, size_t queries, size_t k) {
  std::vector<NodeId> targets(queries);
  std::iota(targets.begin(), targets.end(), 0U);
  BatchBuilder builder(sampler, {k}, false), scored(sampler, {k}, true);
  double plain = best_seconds([&](uint32_t epoch) { builder.build(targets, epoch); });
  double with_scores = best_seconds([&](uint32_t epoch) { scored.build(targets, epoch); });
  Batch batch = builder.build(targets, 0);
  double turned = best_seconds([&](uint32_t) { transpose(batch.layers[0]); });
  fmt::print(
      "{} queries x {}: batch {:.2f} ms ({:.2f} with log-scores), {} nodes; transpose {:.2f} ms\n",
      queries, k, 1e3 * plain, 1e3 * with_scores, batch.nodes.size(), 1e3 * turned);
}

}  // namespace

int main(int argc, char** argv) {
  size_t nodes = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 200'000;
  size_t degree = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 80;
  size_t k = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 10;
  AttentionGraph graph = regular_graph(nodes, degree);
  Scores even = random_scores(graph, false), skewed = random_scores(graph, true);
  fmt::print("{} nodes x {} edges, {} sampled, {} threads\n", nodes, degree, k, threads());
  Sampler weighted(graph, &even, Sampling::weighted, 1);
  double even_rate = sampling_rate(weighted, k);
  double skewed_rate = sampling_rate(Sampler(graph, &skewed, Sampling::weighted, 1), k);
  double uniform_rate = sampling_rate(Sampler(graph, nullptr, Sampling::uniform, 1), k);
  double top_rate = sampling_rate(Sampler(graph, &even, Sampling::top, 1), k);
  for (auto [what, rate] : {std::pair("weighted", even_rate),
                            {"skewed", skewed_rate},
                            {"uniform", uniform_rate},
                            {"top", top_rate}})
    fmt::print("{:>8}: {:.0f} M edges/s, {:.2f} ns per edge\n", what, 1e-6 * rate, 1e9 / rate);
  fmt::print("skewed scores cost {:.2f} times the time of random ones\n", even_rate / skewed_rate);
  time_batches(weighted, std::min<size_t>(nodes, 100'000), 10);
  time_batches(weighted, std::min<size_t>(nodes, 11'758), 12);
}
