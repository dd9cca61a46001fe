// How fast an edge list is parsed (one thread), and how long the real files take to load.
#include <fmt/format.h>
#include <spex/core/files.h>
#include <spex/core/random.h>
#include <spex/core/threads.h>
#include <spex/data/reader.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>

#include "data/formats/tables.h"

namespace {

using namespace spex;
constexpr int kRepeats = 5;

template <class Body>
double best_seconds(Body&& body) {
  double best = 1e300;
  for (int i = 0; i < kRepeats; ++i) {
    auto start = std::chrono::steady_clock::now();
    body();
    best = std::min(
        best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

std::string edge_list(size_t edges, size_t nodes) {
  Random random(1, Purpose::test);
  std::string text = "source,target\n";
  for (size_t e = 0; e < edges; ++e)
    fmt::format_to(std::back_inserter(text), "{},{}\n", random.below(nodes, 2 * e),
                   random.below(nodes, 2 * e + 1));
  return text;
}

// The parser's answer against fmt's input, summed: a fast wrong parser must not look good.
bool check(const EdgeTable& table, size_t edges, size_t nodes) {
  Random random(1, Purpose::test);
  if (table.sources.size() != edges) return false;
  for (size_t e = 0; e < edges; ++e)
    if (table.sources[e] != random.below(nodes, 2 * e) ||
        table.targets[e] != random.below(nodes, 2 * e + 1))
      return false;
  return true;
}

void print_parse_rate() {
  constexpr size_t kEdges = 4'000'000, kNodes = 2'449'029;
  std::string text = edge_list(kEdges, kNodes);
  EdgeTable table;
  double seconds = best_seconds([&] {
    NodeIds ids;
    table = read_edge_table({"bench.csv", std::as_bytes(std::span(text)), nullptr}, {}, ids);
  });
  // What merely touching the text costs, for scale.
  size_t lines = 0;
  double touch = best_seconds([&] { lines = std::count(text.begin(), text.end(), '\n'); });
  double megabytes = static_cast<double>(text.size()) / 1e6;
  fmt::print(
      "edge list: {:.0f} MB/s per core ({:.0f} M edges/s, {}; counting its {} lines: {:.0f} "
      "MB/s)\n",
      megabytes / seconds, static_cast<double>(kEdges) / 1e6 / seconds,
      check(table, kEdges, kNodes) ? "checked" : "WRONG", lines, megabytes / touch);
}

void print_load_times() {
  namespace fs = std::filesystem;
  for (const char* name :
       {"actor.npz", "minesweeper.npz", "tolokers.npz", "cora.npz", "facebook"}) {
    fs::path path = fs::path("../shared/data") / name;
    if (!fs::exists(path)) continue;
    double seconds = best_seconds([&] { read_dataset(path); });
    fmt::print("load {:<16} {:6.1f} ms\n", name, seconds * 1e3);
  }
}

}  // namespace

int main() {
  print_parse_rate();
  print_load_times();
}
