#include "plan/probe.h"

#include <spex/core/random.h>
#include <spex/core/stopwatch.h>
#include <spex/graph/builder.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "plan/row_rate.h"

namespace spex {
namespace {

constexpr double kProbeNodes = 3000;  // of the larger of the two trials
constexpr double kProbeEdges = 300'000;
constexpr double kProbeFeatures = 2e6;  // numbers
constexpr size_t kSelfLoop = 1;

// Random features of so many nodes, as dense or sparse as the data's.
class ProbeFeatures {
 public:
  ProbeFeatures(const PlanInput& input, size_t nodes) {
    Random random(1, Purpose::test);
    if (input.nonzeros == 0) {
      dense_ = Matrix(nodes, input.features, MemoryTag::features);
      for (size_t i = 0; i < dense_.size(); ++i)
        dense_.data()[i] = static_cast<float>(random.bits(i / 4)[i % 4] % 1000) * 1e-3F - 0.5F;
      return;
    }
    size_t each =
        std::clamp<size_t>(input.nonzeros / std::max<size_t>(1, input.nodes), 1, input.features);
    Buffer<uint64_t> offsets(nodes + 1, MemoryTag::features);
    Buffer<uint32_t> columns(nodes * each, MemoryTag::features);
    Buffer<float> values(nodes * each, MemoryTag::features);
    for (size_t i = 0; i <= nodes; ++i) offsets[i] = i * each;
    for (size_t i = 0; i < nodes * each; ++i) {
      columns[i] = static_cast<uint32_t>(i % each * (input.features / each));
      values[i] = 1.0F;
    }
    sparse_ = SparseMatrix{nodes, input.features, std::move(offsets), std::move(columns),
                           std::move(values)};
  }
  ModelInput input() const {
    return sparse_ ? ModelInput{{}, &*sparse_} : ModelInput{dense_.view(), nullptr};
  }

 private:
  Matrix dense_;
  std::optional<SparseMatrix> sparse_;
};

// A random graph of this average degree (directed edges per node), and its transpose.
CsrGraph random_graph(size_t nodes, double degree, uint64_t seed) {
  auto pairs = static_cast<size_t>(static_cast<double>(nodes) * degree / 2.0);
  Buffer<NodeId> sources(pairs, MemoryTag::graph), targets(pairs, MemoryTag::graph);
  Random random(seed, Purpose::test);
  for (size_t e = 0; e < pairs; ++e) {
    auto bits = random.bits(e);
    sources[e] = static_cast<NodeId>(bits[0] % nodes);
    targets[e] = static_cast<NodeId>(bits[1] % nodes);
  }
  return build_csr(nodes, sources.span(), targets.span()).graph;
}

double local_degree(const PlanInput& input) {
  double directed = input.symmetric ? 1.0 : 2.0;
  return directed * static_cast<double>(input.edges) / static_cast<double>(input.nodes);
}

Buffer<float> zeros(size_t count) {
  Buffer<float> values(count, MemoryTag::graph);
  std::fill(values.begin(), values.end(), 0.0F);
  return values;
}

NeighbourMatrix random_sample(size_t queries, size_t sources, size_t k, size_t types,
                              bool log_scores, size_t edge_features) {
  NeighbourMatrix sample;
  sample.queries = queries;
  sample.sources = sources;
  sample.k = std::min(k, sources);
  sample.types = types;
  sample.indices = Buffer<NodeId>(queries * sample.k, MemoryTag::graph);
  sample.ends = Buffer<uint16_t>(types * queries, MemoryTag::graph);
  Random random(2, Purpose::test);
  for (size_t i = 0; i < sample.indices.size(); ++i)
    sample.indices[i] = static_cast<NodeId>(random.bits(i / 4)[i % 4] % sources);
  for (size_t t = 0; t < types; ++t)
    std::fill_n(sample.ends.begin() + t * queries, queries,
                static_cast<uint16_t>(sample.k * (t + 1) / types));
  if (log_scores) {
    sample.log_score = Buffer<float>(sample.indices.size(), MemoryTag::graph);
    std::fill(sample.log_score.begin(), sample.log_score.end(), -1.0F);
  }
  sample.feature_count = edge_features;
  sample.features = zeros(sample.indices.size() * edge_features);
  return sample;
}

size_t features_used(const PlanInput& input, const Needs& needs) {
  return needs.edge_features ? input.edge_features : 0;
}

// A random graph of `degree` edges per node, to attend along: the data's share of them are the
// graph's own.
AttentionGraph random_attention(const PlanInput& input, const Needs& needs, size_t nodes,
                                double degree) {
  AugmentOptions options;
  options.virtual_nodes = needs.virtual_nodes;
  size_t features = features_used(input, needs);
  if (features == 0) return augment(random_graph(nodes, degree, 3), {}, options);
  double own =
      std::min(degree, static_cast<double>(input.edges) / static_cast<double>(input.nodes));
  CsrGraph graph = random_graph(nodes, own, 3);
  AttentionGraph attention = augment(graph, random_graph(nodes, degree - own, 6), options);
  add_edge_features(attention, graph, zeros(graph.edges() * features), features);
  return attention;
}

// The graphs that a model sees of `nodes` nodes.
struct ProbeGraphs {
  AttentionGraph attention, transposed, local;
  std::vector<NeighbourMatrix> samples;
  ChosenGraphs chosen;
  Neighbourhood neighbourhood;

  ProbeGraphs(const PlanInput& input, const Needs& needs, const ExpanderConfig& expander,
              size_t nodes, double last_share) {
    double edges = attention_edges(input, needs, expander) / static_cast<double>(input.nodes);
    Graphs graphs;
    bool sampled = !needs.sampling.degrees.empty();
    if (needs.attention && !sampled) {
      double real = edges - kSelfLoop - 2.0 * static_cast<double>(needs.virtual_nodes);
      attention = random_attention(input, needs, nodes, real);
      transposed = transpose(attention);
      graphs = {&attention, &transposed, nullptr};
    }
    if (needs.local) {
      local = augment(random_graph(nodes, local_degree(input), 4), {});
      graphs.local = &local;
    }
    auto last = static_cast<size_t>(last_share * static_cast<double>(nodes));
    std::vector<NodeId> rows(last);
    for (size_t i = 0; i < last; ++i) rows[i] = static_cast<NodeId>(i);
    if (last < nodes && !sampled) chosen = choose_rows(graphs, rows);
    neighbourhood = last < nodes && !sampled ? whole_neighbourhood(graphs, needs.layers, chosen)
                                             : whole_neighbourhood(graphs);
    if (sampled) add_samples(needs, nodes, last, features_used(input, needs));
  }

  void add_samples(const Needs& needs, size_t nodes, size_t last, size_t edge_features) {
    size_t layers = needs.sampling.degrees.size();
    samples.reserve(layers);
    Neighbourhood::Layer shared =
        neighbourhood.layers.empty() ? Neighbourhood::Layer{} : neighbourhood.layers.front();
    neighbourhood.layers.assign(layers, shared);
    for (size_t l = 0; l < layers; ++l) {
      size_t queries = l + 1 == layers && !needs.local ? last : nodes;
      samples.push_back(random_sample(queries, nodes, needs.sampling.degrees[l], needs.edge_types(),
                                      needs.sampling.log_scores, edge_features));
      neighbourhood.layers[l].attention = Pattern::sampled(samples.back());
    }
    neighbourhood.sampled = true;
  }
};

struct Measured {
  double train_bytes = 0, evaluate_bytes = 0, train_seconds = 0, evaluate_seconds = 0;
};

// The quickest of a few times of each, and the highest peak above what was there before: beside
// other programs a thread may come too late to take its part, and its scratch memory with it. Of
// the last epoch: models that grow while they are trained are whole then.
Measured measure(Model& model, const ModelInput& input, const Neighbourhood& neighbourhood,
                 size_t epochs) {
  Measured best{0, 0, 1e30, 1e30};
  for (int round = 0; round < 3; ++round) {
    Pass pass;
    pass.training = true;
    pass.epoch = epochs - 1;
    Var penalty;
    pass.penalty = &penalty;
    size_t before = memory_use().current;
    reset_memory_peaks();
    Stopwatch watch;
    {
      Tape tape;
      Var logits = model.forward(tape, input, neighbourhood, pass);
      Matrix gradient(logits.rows(), logits.cols(), MemoryTag::gradients);
      fill(gradient, 1e-3F);
      model.parameters().zero_gradients();
      penalty = {};
      tape.backward(std::move(logits), std::move(gradient));
    }
    best.train_seconds = std::min(best.train_seconds, watch.seconds());
    best.train_bytes = std::max(best.train_bytes, static_cast<double>(memory_use().peak - before));
    reset_memory_peaks();
    Stopwatch forward;
    {
      Tape tape(false);
      Pass evaluation;
      evaluation.epoch = epochs - 1;
      model.forward(tape, input, neighbourhood, evaluation);
    }
    best.evaluate_seconds = std::min(best.evaluate_seconds, forward.seconds());
    best.evaluate_bytes =
        std::max(best.evaluate_bytes, static_cast<double>(memory_use().peak - before));
  }
  return best;
}

// Two trials, one half as large: what is the same in both is there once, the rest grows by
// `factor`. Time grows so as well, but for what all pairs of nodes take, a s^2 of a s^2 + b s.
using Trial = std::function<Measured(double share)>;
StepCost scale_up(double factor, const Model& model, bool all_pairs, const Trial& trial) {
  Measured large = trial(1.0), small = trial(0.5);
  auto grow = [factor](double a, double b) {
    double slope = std::max(0.0, 2.0 * (a - b));
    return std::max(0.0, a - slope) + factor * slope;
  };
  auto grow_time = [factor, all_pairs](double a, double b) {
    double square = all_pairs ? std::clamp(2.0 * a - 4.0 * b, 0.0, a) : 0.0;
    return factor * (a - square) + factor * factor * square;
  };
  StepCost cost;
  cost.train_bytes = grow(large.train_bytes, small.train_bytes);
  cost.evaluate_bytes = grow(large.evaluate_bytes, small.evaluate_bytes);
  cost.train_seconds = grow_time(large.train_seconds, small.train_seconds);
  cost.evaluate_seconds = grow_time(large.evaluate_seconds, small.evaluate_seconds);
  cost.parameters = static_cast<double>(model.parameters().count());
  return cost;
}

// A part of a graph that is small enough to try.
double probe_size(const PlanInput& input, double degree, double nodes) {
  double numbers = static_cast<double>(
      input.nonzeros ? input.nonzeros / std::max<size_t>(1, input.nodes) : input.features);
  return std::max(64.0, std::min({nodes, kProbeNodes, kProbeEdges / (degree + 1.0),
                                  kProbeFeatures / std::max(1.0, numbers)}));
}

Shape shape_of(const PlanInput& input, const Needs& needs) {
  return {input.features, input.outputs, needs.edge_types(), input.nodes,
          features_used(input, needs)};
}

// Rows of a table that is larger than the cache take longer to fetch than those of the trial: once
// in forward, twice in backward.
void add_fetching(StepCost& cost, const Needs& needs, double rows, double edges, double tried) {
  if (needs.row_floats == 0) return;
  size_t bytes = needs.row_floats * sizeof(float);
  double extra = row_seconds(bytes, static_cast<size_t>(rows)) -
                 row_seconds(bytes, static_cast<size_t>(tried));
  cost.train_seconds += 3.0 * edges * std::max(0.0, extra);
  cost.evaluate_seconds += edges * std::max(0.0, extra);
}

// At most: nothing is known of how often the neighbours of neighbours are neighbours.
double ball_size(const PlanInput& in, const std::vector<size_t>& fan_out) {
  double ring = 1.0, members = 1.0;
  for (size_t most : fan_out) {
    ring *= std::min(static_cast<double>(most), local_degree(in));
    members += ring;
  }
  auto nodes = static_cast<double>(in.nodes);
  return nodes * -std::expm1(-members / nodes);
}

}  // namespace

double attention_edges(const PlanInput& in, const Needs& needs, const ExpanderConfig& expander) {
  if (!needs.attention) return 0.0;
  double nodes = static_cast<double>(in.nodes);
  if (!needs.ball.empty()) return nodes * ball_size(in, needs.ball);
  double random = static_cast<double>(std::min(expander.degree, in.nodes - 1)) * nodes;
  return static_cast<double>(in.edges) + random + nodes +
         2.0 * nodes * static_cast<double>(needs.virtual_nodes);
}

LayerNodes batch_nodes(const PlanInput& in, const SamplingOptions& sampling, size_t batch) {
  auto n = static_cast<double>(in.nodes);
  size_t layers = std::max(sampling.degrees.size(), sampling.local.size());
  LayerNodes nodes(layers + 1);
  nodes.back() = static_cast<double>(batch);
  for (size_t l = layers; l-- > 0;) {
    double drawn = 1.0;
    if (!sampling.degrees.empty()) drawn += static_cast<double>(sampling.degrees[l]);
    if (!sampling.local.empty())
      drawn += std::min(static_cast<double>(sampling.local[l]), local_degree(in));
    nodes[l] = std::max(nodes[l + 1], n * -std::expm1(-nodes[l + 1] * drawn / n));
  }
  return nodes;
}

StepCost probe_whole(const PlanInput& in, const Phase& phase, const ExpanderConfig& expander,
                     size_t last, size_t row_parts) {
  Needs needs = phase.model->needs();
  auto nodes = static_cast<double>(in.nodes);
  double share = static_cast<double>(last) / nodes;
  bool sampled = !needs.sampling.degrees.empty();
  double degree = sampled ? 0.0 : attention_edges(in, needs, expander) / nodes;
  double size = probe_size(in, degree + (needs.local ? local_degree(in) : 0.0), nodes);
  std::unique_ptr<Model> model = phase.model->make(shape_of(in, needs), 0);
  StepCost cost = scale_up(nodes / size, *model, needs.all_pairs, [&](double part) {
    auto count = static_cast<size_t>(size * part);
    ProbeFeatures features(in, count);
    ProbeGraphs graphs(in, needs, expander, count, share);
    graphs.neighbourhood.row_parts = row_parts;
    return measure(*model, features.input(), graphs.neighbourhood, phase.recipe.epochs);
  });
  double edges = 0;
  for (size_t l = 0; l < needs.layers; ++l) {
    double rows = l + 1 == needs.layers ? share * nodes : nodes;
    edges += rows * (sampled ? static_cast<double>(needs.sampling.degrees[l]) : degree);
    if (needs.local) edges += rows * local_degree(in);
  }
  add_fetching(cost, needs, nodes, edges, size);
  return cost;
}

StepCost probe_batch(const PlanInput& in, const Phase& phase, const LayerNodes& nodes) {
  Needs needs = phase.model->needs();
  double largest = *std::max_element(nodes.begin(), nodes.end());
  double size = probe_size(in, 0.0, largest);
  std::unique_ptr<Model> model = phase.model->make(shape_of(in, needs), 0);
  double edges = 0;
  StepCost cost = scale_up(largest / size, *model, needs.all_pairs, [&](double part) {
    auto scaled = [&](double count) {
      return std::max<size_t>(1, static_cast<size_t>(std::lround(count * part * size / largest)));
    };
    ProbeFeatures features(in, scaled(nodes[0]));
    std::vector<NeighbourMatrix> attention, local;
    edges = 0;
    for (size_t l = 0; l + 1 < nodes.size(); ++l) {
      size_t queries = scaled(nodes[l + 1]), sources = std::max(queries, scaled(nodes[l]));
      const SamplingOptions& s = needs.sampling;
      if (!s.degrees.empty())
        attention.push_back(random_sample(queries, sources, s.degrees[l], needs.edge_types(),
                                          s.log_scores, features_used(in, needs)));
      if (!s.local.empty())
        local.push_back(random_sample(queries, sources, s.local[l] + 1, 3, false, 0));
      edges += nodes[l + 1] * static_cast<double>((s.degrees.empty() ? 0 : s.degrees[l]) +
                                                  (s.local.empty() ? 0 : s.local[l]));
    }
    AttentionGraph whole =
        local.empty() ? AttentionGraph{} : augment(random_graph(scaled(nodes[0]), 4.0, 4), {});
    std::vector<NodeId> numbers(scaled(nodes[0]));
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<NodeId>(i);
    return measure(*model, features.input(),
                   sampled_neighbourhood(attention, local, &whole, numbers), phase.recipe.epochs);
  });
  add_fetching(cost, needs, largest, edges, size);
  return cost;
}

// Of m draws among N nodes, N (1 - (1 - 1/N)^m) are distinct. They have the edges of random nodes,
// and those that were walked along.
StepCost probe_subgraph(const PlanInput& in, const Phase& phase, const ExpanderConfig& expander) {
  SubgraphOptions subgraph = phase.model->needs().subgraphs;
  subgraph.draws = phase.recipe.batch_size;
  auto all = static_cast<double>(in.nodes);
  double nodes = all * -std::expm1(-static_cast<double>(subgraph.nodes()) / all);
  PlanInput part = in;
  part.nodes = static_cast<size_t>(nodes);
  double walked = 2.0 * static_cast<double>(subgraph.draws * subgraph.steps());
  double random = static_cast<double>(in.edges) * (nodes / all) * (nodes / all);
  part.edges = std::min(in.edges, static_cast<size_t>(random + walked));
  part.nonzeros = static_cast<size_t>(static_cast<double>(in.nonzeros) * nodes / all);
  return probe_whole(part, phase, expander, part.nodes);
}

StepCost probe_part(const PlanInput& in, const Phase& phase, const ExpanderConfig& expander,
                    size_t nodes) {
  PlanInput part = in;  // the edges among random nodes are fewer by the square of their share
  double share = static_cast<double>(nodes) / static_cast<double>(in.nodes);
  part.nodes = nodes;
  part.edges = static_cast<size_t>(static_cast<double>(in.edges) * share * share);
  part.nonzeros = static_cast<size_t>(static_cast<double>(in.nonzeros) * share);
  ExpanderConfig fewer = expander;
  fewer.degree = static_cast<size_t>(static_cast<double>(expander.degree) * share);
  return probe_whole(part, phase, fewer, nodes);
}

}  // namespace spex
