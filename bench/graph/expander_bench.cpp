// Seconds to make an expander and to check its spectral gap: expander_bench [degree].
#include <fmt/core.h>
#include <spex/core/memory.h>
#include <spex/core/threads.h>
#include <spex/graph/expander.h>

#include <chrono>
#include <cstdlib>

int main(int argc, char** argv) {
  using namespace spex;
  size_t degree = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 30;
  fmt::print("degree {}, {} threads\n", degree, threads());
  for (size_t nodes : {10'000UL, 100'000UL, 1'000'000UL, 2'449'029UL}) {
    auto begin = std::chrono::steady_clock::now();
    Expander expander = make_expander(nodes, {.degree = degree, .check_up_to_nodes = 0});
    auto made = std::chrono::steady_clock::now();
    fmt::print("{:>8} nodes: made in {:.3f} s", nodes,
               std::chrono::duration<double>(made - begin).count());
    if (nodes <= 1'000'000) {
      double gap = spectral_gap(expander.graph);
      std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - made;
      fmt::print(", gap {:.4f} ({:.4f} wanted) in {:.3f} s", gap, expander.required_gap,
                 seconds.count());
    }
    fmt::print(", peak rss {} MB\n", resident_memory().peak >> 20);
  }
}
