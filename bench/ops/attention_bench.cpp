// Attention on every instruction set the machine has, side by side, against the rate at which it
// reads random rows. An edge needs one row in forward and two in backward (keys and values for the
// query, query and gradient for the key), and counts twice there. With an argument the large graph
// is left out.
#include <fmt/format.h>
#include <spex/core/cpu.h>
#include <spex/core/error.h>
#include <spex/ops/attention.h>

#include <cmath>

#include "machine.h"

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
  size_t floats() const { return heads * width; }
};

struct Seconds {
  double forward, backward;
};

// The tables of a case, as a network hands them over, and attention on them.
class Work {
 public:
  explicit Work(const Case& c)
      : case_(c),
        graph_(random_graph(c.nodes, c.degree, 1)),
        q_(noise(c.nodes, c.floats(), 1)),
        k_(noise(c.nodes, joined() ? 2 * c.floats() : c.floats(), 2)),
        v_(noise(c.nodes, c.floats(), 3)) {
    if (c.kind == Kind::all_edges)
      transposed_ = random_graph(c.nodes, c.degree, 2);
    else
      pattern_ = as_samples(graph_);
    options_.heads = c.heads;
  }

  Seconds run() const {
    Tape tape;
    AttentionInputs in;
    in.q = tape.variable(clone(q_));
    in.k = tape.variable(clone(k_));
    if (!joined() && case_.kind != Kind::folded) in.v = tape.variable(clone(v_));
    in.joined = joined();
    double start = bench::seconds_used();
    Var out = attend(tape, in);
    Seconds seconds{};
    seconds.forward = bench::seconds_used() - start;
    Matrix ones(out.rows(), out.cols(), MemoryTag::gradients);
    fill(ones, 1.0F);
    Var loss =
        tape.result(Matrix::zeros(1, 1, MemoryTag::other), {out},
                    [&, dout = out.gradient()](ConstMatrixView) { dout->give(std::move(ones)); });
    start = bench::seconds_used();
    tape.backward(loss);
    seconds.backward = bench::seconds_used() - start;
    return seconds;
  }

  // Some rows of the result against the definition, in double precision.
  void check() const {
    Tape tape(false);
    AttentionInputs in;
    in.q = tape.constant(q_.view());
    in.k = tape.constant(k_.view());
    if (!joined() && case_.kind != Kind::folded) in.v = tape.constant(v_.view());
    in.joined = joined();
    Var out = attend(tape, in);
    for (size_t row : {size_t{0}, case_.nodes / 2, case_.nodes - 1})
      for (size_t head = 0; head < case_.heads; ++head) check_head(out.value(), row, head);
  }

  double rows_per_second() const {
    Buffer<uint32_t> ids(graph_.edges(), MemoryTag::other);
    std::copy(graph_.neighbours.begin(), graph_.neighbours.end(), ids.begin());
    size_t vectors = case_.kind == Kind::folded ? 1 : 2;
    return bench::random_rows_per_second(case_.nodes,
                                         std::max<size_t>(16, vectors * case_.floats()), ids);
  }
  double edges() const { return static_cast<double>(graph_.edges()); }

 private:
  static Matrix clone(const Matrix& from) {
    Matrix to(from.rows(), from.cols(), MemoryTag::other);
    copy(to, from);
    return to;
  }
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
  void check_head(ConstMatrixView out, size_t row, size_t head) const {
    size_t first = head * case_.width, last = first + case_.width;
    double scale = case_.kind == Kind::folded ? 1.0 : 1.0 / std::sqrt(double(case_.width));
    std::vector<double> expected(case_.floats(), 0.0);
    double sum = 1e-6;
    for (EdgeOffset e = graph_.offsets[row]; e < graph_.offsets[row + 1]; ++e) {
      double score = 0;
      for (size_t d = first; d < last; ++d)
        score += double{q_(row, d)} * k_(graph_.neighbours[e], d);
      double w = std::exp(std::clamp(score * scale, -8.0, 8.0));
      sum += w;
      for (size_t d = first; d < last; ++d) expected[d] += w * value(graph_.neighbours[e], d);
    }
    for (size_t d = first; d < last; ++d)
      require(std::abs(out(row, d) - expected[d] / sum) < 1e-5, "wrong result in row {}", row);
  }

  Case case_;
  AttentionGraph graph_, transposed_;
  NeighbourMatrix pattern_;
  Matrix q_, k_, v_;
  AttentionOptions options_;
};

// The instruction sets take turns, so that a disturbance meets them all.
std::vector<Seconds> measure(const Work& work, int rounds) {
  std::vector<Isa> isas = supported_isas();
  std::vector<std::vector<double>> forward(isas.size()), backward(isas.size());
  for (int round = 0; round <= rounds; ++round)
    for (size_t i = 0; i < isas.size(); ++i) {
      set_isa(isas[i]);
      if (round == 0) work.check();  // and warms up
      Seconds seconds = work.run();
      if (round == 0) continue;
      forward[i].push_back(seconds.forward);
      backward[i].push_back(seconds.backward);
    }
  set_isa(isas.back());
  std::vector<Seconds> medians;
  for (size_t i = 0; i < isas.size(); ++i)
    medians.push_back({bench::median(forward[i]), bench::median(backward[i])});
  return medians;
}

void print_case(const Case& c, int rounds) {
  static constexpr const char* kKinds[] = {"", ", sampled", ", folded"};
  Work work(c);
  std::vector<Seconds> all = measure(work, rounds);
  double limit = work.rows_per_second();
  fmt::print("{} x {:>3} of {:>3}{:9} {:>4}", c.heads, c.width, c.degree,
             kKinds[static_cast<int>(c.kind)], std::max<size_t>(1, c.nodes / 1000));
  for (const Seconds& seconds : all)
    fmt::print(" |{:6.0f} /{:5.0f} {:4.0f}% /{:4.0f}%", 1e-6 * work.edges() / seconds.forward,
               2e-6 * work.edges() / seconds.backward, 100 * work.edges() / seconds.forward / limit,
               200 * work.edges() / seconds.backward / limit);
  fmt::print(" |{:6.0f}\n", 1e-6 * limit);
}

void print_head(const char* title) {
  fmt::print("\n{}: M edges/s forward / backward, and their shares of the random-row limit\n",
             title);
  fmt::print("{:<18}{:>9} ", "heads x width of degree", "nodes/k");
  for (Isa isa : supported_isas()) fmt::print("| {:<24}", name(isa));
  fmt::print("| M rows/s\n");
}

}  // namespace
}  // namespace spex

int main(int argc, char**) {
  using namespace spex;  // NOLINT
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
}
