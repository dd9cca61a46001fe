// Attention on every instruction set the machine has, side by side, against the rate at which it
// reads random rows. An edge needs one row in forward and two in backward (keys and values for the
// query, query and gradient for the key), and counts twice there. With an argument the large graph
// is left out. Last, edges with eight features against those without; with the argument
// `features`, only that.
#include <fmt/format.h>
#include <spex/core/error.h>
#include <spex/ops/attention.h>

#include <cmath>

#include "instruction_sets.h"

namespace spex {
namespace {

using bench::noise;

// Every node has `degree` random neighbours of one type. Not symmetric: the transpose is another
// graph of the same kind, which is all that speed depends on.
AttentionGraph random_graph(size_t nodes, size_t degree, uint64_t seed) {
  Buffer<NodeId> neighbours(nodes * degree, MemoryTag::graph);
  Random random(seed, Purpose::test);
  parallel_for(neighbours.size() / 4, 1 << 16, [&](size_t begin, size_t end) {
    std::vector<uint32_t> words(4 * (end - begin));
    random.fill(words, begin);
    for (size_t i = 0; i < words.size(); ++i)
      neighbours[4 * begin + i] = static_cast<NodeId>((uint64_t{words[i]} * nodes) >> 32);
  });
  Buffer<EdgeOffset> offsets(nodes + 1, MemoryTag::graph);
  for (size_t i = 0; i <= nodes; ++i) offsets[i] = i * degree;
  AttentionGraph graph;
  graph.offsets = std::move(offsets);
  graph.neighbours = std::move(neighbours);
  graph.types = 1;
  return graph;
}

NeighbourMatrix as_samples(const AttentionGraph& graph) {
  NeighbourMatrix pattern;
  pattern.queries = pattern.sources = graph.nodes();
  pattern.k = graph.edges() / graph.nodes();
  pattern.types = 1;
  pattern.indices = Buffer<NodeId>(graph.edges(), MemoryTag::graph);
  pattern.ends = Buffer<uint16_t>(graph.nodes(), MemoryTag::graph);
  std::copy(graph.neighbours.begin(), graph.neighbours.end(), pattern.indices.begin());
  std::fill(pattern.ends.begin(), pattern.ends.end(), static_cast<uint16_t>(pattern.k));
  return pattern;
}

enum class Kind { all_edges, samples, folded };

struct Case {
  size_t nodes, degree, heads, width;  // width of a head
  Kind kind = Kind::all_edges;
  size_t features = 0;  // of an edge
  size_t own = 0;       // edges of a row that are the graph's and have features; 0: all
  size_t floats() const { return heads * width; }
};

// The first `own` edges of every row are of one type, the others of another.
void split_rows(AttentionGraph& graph, size_t own) {
  Buffer<EdgeOffset> ends(graph.nodes(), MemoryTag::graph);
  for (size_t i = 0; i < graph.nodes(); ++i) ends[i] = graph.offsets[i] + own;
  graph.segment_ends = std::move(ends);
  graph.types = 2;
}

void add_features(AttentionGraph& graph, size_t count) {
  Buffer<EdgeOffset> rows(graph.nodes() + 1, MemoryTag::graph);
  rows[0] = 0;
  for (size_t i = 0; i < graph.nodes(); ++i)
    rows[i + 1] = rows[i] + graph.segment_end(0, i) - graph.offsets[i];
  Buffer<float> values(rows[graph.nodes()] * count, MemoryTag::graph);
  Matrix random = noise(graph.nodes(), values.size() / graph.nodes(), 7);
  std::copy(random.span().begin(), random.span().end(), values.begin());
  graph.features = {count, std::move(rows), std::move(values)};
}

// The tables of a case, as a network hands them over, and attention on them.
class Work {
 public:
  explicit Work(const Case& c)
      : case_(c),
        graph_(random_graph(c.nodes, c.degree, 1)),
        q_(noise(c.nodes, c.floats(), 1)),
        k_(noise(c.nodes, joined() ? 2 * c.floats() : c.floats(), 2)),
        v_(noise(c.nodes, c.floats(), 3)),
        rows_(
            noise(c.nodes, std::max<size_t>(16, (c.kind == Kind::folded ? 1 : 2) * c.floats()), 4)),
        edge_modulation_(noise(c.features, c.floats(), 5)),
        edge_bias_(noise(c.features, c.heads, 6)) {
    if (c.kind == Kind::all_edges)
      transposed_ = random_graph(c.nodes, c.degree, 2);
    else
      pattern_ = as_samples(graph_);
    options_.heads = c.heads;
    if (c.own > 0) {
      split_rows(graph_, c.own);
      split_rows(transposed_, c.own);
    }
    if (c.features == 0) return;
    add_features(graph_, c.features);
    if (c.kind == Kind::all_edges) {
      add_features(transposed_, c.features);
      return;
    }
    pattern_.feature_count = c.features;
    pattern_.features = Buffer<float>(graph_.edges() * c.features, MemoryTag::graph);
    std::copy(graph_.features.values.begin(), graph_.features.values.end(),
              pattern_.features.begin());
  }

  bench::Seconds run() const {
    Tape tape;
    AttentionInputs in;
    in.q = tape.variable(bench::clone(q_));
    in.k = tape.variable(bench::clone(k_));
    if (!joined() && case_.kind != Kind::folded) in.v = tape.variable(bench::clone(v_));
    in.joined = joined();
    if (case_.features > 0) {
      in.edge_modulation = tape.variable(bench::clone(edge_modulation_));
      in.edge_bias = tape.variable(bench::clone(edge_bias_));
    }
    return bench::time_operation(tape, [&] { return attend(tape, in); });
  }

  // Some rows of the result against the definition, in double precision.
  void check() const {
    Tape tape(false);
    AttentionInputs in;
    in.q = tape.constant(q_.view());
    in.k = tape.constant(k_.view());
    if (!joined() && case_.kind != Kind::folded) in.v = tape.constant(v_.view());
    in.joined = joined();
    if (case_.features > 0) {
      in.edge_modulation = tape.constant(edge_modulation_.view());
      in.edge_bias = tape.constant(edge_bias_.view());
    }
    Var out = attend(tape, in);
    for (size_t row : {size_t{0}, case_.nodes / 2, case_.nodes - 1})
      for (size_t head = 0; head < case_.heads; ++head) check_head(out.value(), row, head);
  }

  // A row has what an edge reads in forward, at least a cache line.
  double seconds_of_rows() const {
    return bench::seconds_of_random_rows(rows_, graph_.neighbours.data(), graph_.edges());
  }
  double edges() const { return static_cast<double>(graph_.edges()); }

 private:
  bool joined() const {
    return case_.kind != Kind::folded && takes_joined(case_.floats(), case_.heads);
  }
  Var attend(Tape& tape, const AttentionInputs& in) const {
    return case_.kind == Kind::all_edges ? sparse_attention(tape, in, graph_, transposed_, options_)
                                         : regular_attention(tape, in, pattern_, options_);
  }
  double value(size_t node, size_t column) const {
    if (case_.kind == Kind::folded) return k_(node, column);
    return joined() ? k_(node, case_.floats() + column) : v_(node, column);
  }
  // Of an edge with features; of the others, zero.
  double feature(size_t row, EdgeOffset e, size_t f) const {
    if (e >= graph_.segment_end(0, row)) return 0;
    size_t place = graph_.features.rows[row] + (e - graph_.offsets[row]);
    return graph_.features.values[place * case_.features + f];
  }
  double modulation(size_t row, EdgeOffset e, size_t column) const {
    double sum = 1;
    for (size_t f = 0; f < case_.features; ++f)
      sum += feature(row, e, f) * edge_modulation_(f, column);
    return sum;
  }
  double bias(size_t row, EdgeOffset e, size_t head) const {
    double sum = 0;
    for (size_t f = 0; f < case_.features; ++f) sum += feature(row, e, f) * edge_bias_(f, head);
    return sum;
  }
  void check_head(ConstMatrixView out, size_t row, size_t head) const {
    size_t first = head * case_.width, last = first + case_.width;
    double scale = case_.kind == Kind::folded ? 1.0 : 1.0 / std::sqrt(double(case_.width));
    std::vector<double> expected(case_.floats(), 0.0);
    double sum = 1e-6;
    for (EdgeOffset e = graph_.offsets[row]; e < graph_.offsets[row + 1]; ++e) {
      double score = 0;
      for (size_t d = first; d < last; ++d)
        score += modulation(row, e, d) * double{q_(row, d)} * k_(graph_.neighbours[e], d);
      double w = std::exp(std::clamp(score * scale + bias(row, e, head), -8.0, 8.0));
      sum += w;
      for (size_t d = first; d < last; ++d) expected[d] += w * value(graph_.neighbours[e], d);
    }
    for (size_t d = first; d < last; ++d)
      require(std::abs(out(row, d) - expected[d] / sum) < 1e-5, "wrong result in row {}", row);
  }

  Case case_;
  AttentionGraph graph_, transposed_;
  NeighbourMatrix pattern_;
  Matrix q_, k_, v_, rows_, edge_modulation_, edge_bias_;
  AttentionOptions options_;
};

void print_case(const Case& c, int rounds) {
  static constexpr const char* kKinds[] = {"", "sampled", "folded"};
  Work work(c);
  bench::SideBySide all = bench::side_by_side(
      rounds, [&] { work.check(); }, [&] { return work.run(); },
      [&] { return work.seconds_of_rows(); });
  fmt::print("{} x {:<3} {:>5}k x {:<3} {:8}", c.heads, c.width, c.nodes / 1000, c.degree,
             kKinds[static_cast<int>(c.kind)]);
  for (const bench::Seconds& seconds : all.isas)
    fmt::print(" |{:5.0f} /{:4.0f} {:4.0f}% /{:3.0f}%", 1e-6 * work.edges() / seconds.forward,
               2e-6 * work.edges() / seconds.backward, 100 * all.limit / seconds.forward,
               200 * all.limit / seconds.backward);
  fmt::print(" |{:6.0f}\n", 1e-6 * work.edges() / all.limit);
}

void print_head(const char* title) {
  fmt::print("\n{}: M edges/s forward / backward, and their shares of the random-row limit\n",
             title);
  fmt::print("{:<8}{:<23}", "heads", "nodes x degree");
  for (Isa isa : supported_isas()) fmt::print("| {:<21}", name(isa));
  fmt::print("| M rows/s\n");
}

// The same attention without and with features of its edges, in turns. What matters is both
// directions together.
void print_features(Case c, int rounds) {
  std::string kind = c.kind == Kind::samples ? "sampled" : "";
  if (c.own > 0) kind = fmt::format("{} have", c.own);
  Work without(c);
  c.features = 8;
  Work with(c);
  fmt::print("{} x {:<3} {:>5}k x {:<3} {:8}", c.heads, c.width, c.nodes / 1000, c.degree, kind);
  std::vector<std::vector<double>> forward(supported_isas().size()), backward = forward,
                                                                     all = forward;
  for (int round = 0; round <= rounds; ++round)
    for (size_t i = 0; i < forward.size(); ++i) {
      set_isa(supported_isas()[i]);
      if (round == 0) with.check();
      bench::Seconds a = without.run(), b = with.run();
      if (round == 0) continue;
      forward[i].push_back(b.forward / a.forward);
      backward[i].push_back(b.backward / a.backward);
      all[i].push_back((b.forward + b.backward) / (a.forward + a.backward));
    }
  for (size_t i = 0; i < forward.size(); ++i)
    fmt::print(" |{:5.2f} /{:5.2f} /{:5.2f}  ", bench::median(forward[i]),
               bench::median(backward[i]), bench::median(all[i]));
  fmt::print("\n");
}

void print_feature_table() {
  fmt::print(
      "\n8 features per edge: time of forward / backward / both, relative to none\n"
      "(of all edges, or of 14 of the 40 of a row: of a graph beside an expander)\n");
  fmt::print("{:<8}{:<23}", "heads", "nodes x degree");
  for (Isa isa : supported_isas()) fmt::print("| {:<21}", name(isa));
  fmt::print("\n");
  set_threads(1);
  for (auto [heads, width] : {std::pair<size_t, size_t>{1, 8}, {1, 64}, {2, 32}}) {
    print_features({2'000, 40, heads, width}, 15);
    print_features({2'000, 40, heads, width, Kind::all_edges, 0, 14}, 15);
    print_features({2'000, 10, heads, width, Kind::samples}, 31);
  }
  set_threads(0);
  print_features({200'000, 40, 1, 8}, 5);
  print_features({200'000, 40, 1, 8, Kind::all_edges, 0, 14}, 5);
  print_features({50'000, 20, 1, 64}, 5);
}

}  // namespace
}  // namespace spex

int main(int argc, char** argv) {
  using namespace spex;  // NOLINT
  if (argc > 1 && std::string_view(argv[1]) == "features") {
    print_feature_table();
    return 0;
  }
  set_threads(1);
  print_head("one thread, in the cache");
  for (auto [heads, width] : {std::pair<size_t, size_t>{1, 8},
                              {1, 4},
                              {2, 4},
                              {2, 8},
                              {4, 8},
                              {8, 8},
                              {1, 32},
                              {2, 32},
                              {1, 64}})
    print_case({2'000, 160, heads, width}, 9);
  for (auto [heads, width] : {std::pair<size_t, size_t>{1, 8}, {4, 8}, {2, 32}, {1, 64}})
    print_case({2'000, 10, heads, width, Kind::samples}, 31);
  print_case({2'000, 10, 1, 64, Kind::folded}, 31);
  set_threads(0);
  print_head("all threads");
  print_case({200'000, 80, 1, 8}, 5);
  print_case({100'000, 10, 1, 128, Kind::samples}, 5);
  print_case({170'000, 6, 2, 48, Kind::samples}, 5);
  if (argc < 2) print_case({2'400'000, 40, 1, 8}, 3);
  print_feature_table();
}
