// The nodes are cut into ranges of about equally many edges, and each range is built by one thread
// that scans the whole list for its own edges. Scanning is sequential and cheap, while the random
// writes stay within one range's small scratch: no atomics, no races, and rows that are sorted in
// the end do not depend on who built them. Scratch of a few ranges and the finished ranges make up
// the peak, so duplicates, however many, do not count towards it.

#include <spex/core/error.h>
#include <spex/core/threads.h>
#include <spex/graph/builder.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <numeric>
#include <vector>

namespace spex {
namespace {

constexpr size_t kEdgeBlock = size_t{1} << 20;
constexpr size_t kScanBlock = 2048;
constexpr size_t kHistogramBins = 8192;
constexpr size_t kEdgesWorthARange = size_t{1} << 19;

struct EdgeList {
  size_t nodes;
  std::span<const NodeId> sources;
  std::span<const NodeId> targets;
  BuildOptions options;

  size_t size() const { return sources.size(); }
  bool dropped(size_t e) const { return options.drop_self_loops && sources[e] == targets[e]; }
  // The reverse of a self-loop is itself, so it is not added.
  bool reversible(size_t e) const { return sources[e] != targets[e]; }
};

struct NodeRange {
  NodeId begin;
  NodeId end;
  bool holds(NodeId node) const { return node - begin < end - begin; }
};

// The finished rows of one range, one after the other.
struct Segment {
  Buffer<NodeId> neighbours;
  uint64_t distinct_listed = 0;  // directed edges of these rows that the list itself holds
};

void check(const EdgeList& list) {
  require(list.nodes <= std::numeric_limits<NodeId>::max(),
          "cannot build a graph: {} nodes are more than 32-bit ids can tell apart", list.nodes);
  require(list.sources.size() == list.targets.size(),
          "cannot build a graph: {} edge sources but {} edge targets", list.sources.size(),
          list.targets.size());
  parallel_for(list.size(), kEdgeBlock, [&](size_t begin, size_t end) {
    for (size_t e = begin; e < end; ++e)
      require(list.sources[e] < list.nodes && list.targets[e] < list.nodes,
              "cannot build a graph: edge {} joins nodes {} and {}, but node ids must be below {}",
              e, list.sources[e], list.targets[e], list.nodes);
  });
}

// Edge ends per bin of 2^shift nodes.
std::vector<uint64_t> histogram(const EdgeList& list, int shift) {
  size_t chunk = std::max(kEdgeBlock, list.size() / 64 + 1);
  std::vector<std::vector<uint64_t>> parts((list.size() + chunk - 1) / chunk);
  parallel_for(list.size(), chunk, [&](size_t begin, size_t end) {
    std::vector<uint64_t> bins((list.nodes >> shift) + 1);
    for (size_t e = begin; e < end; ++e) {
      ++bins[list.sources[e] >> shift];
      if (list.options.undirected) ++bins[list.targets[e] >> shift];
    }
    parts[begin / chunk] = std::move(bins);
  });
  std::vector<uint64_t> total((list.nodes >> shift) + 1);
  for (const auto& part : parts)
    std::transform(part.begin(), part.end(), total.begin(), total.begin(), std::plus<>());
  return total;
}

std::vector<NodeRange> balanced_ranges(const EdgeList& list) {
  size_t wanted = std::clamp<size_t>(list.size() / kEdgesWorthARange, 1,
                                     std::max<size_t>(16, 4 * static_cast<size_t>(threads())));
  if (wanted == 1) return {{0, static_cast<NodeId>(list.nodes)}};
  int shift = static_cast<int>(std::bit_width(list.nodes / kHistogramBins));
  auto bins = histogram(list, shift);
  uint64_t share = std::accumulate(bins.begin(), bins.end(), uint64_t{0}) / wanted + 1;
  std::vector<NodeRange> ranges;
  NodeId begin = 0;
  uint64_t held = 0;
  for (size_t bin = 0; bin < bins.size(); ++bin) {
    held += bins[bin];
    auto end = static_cast<NodeId>(std::min(list.nodes, (bin + 1) << shift));
    if (held < share && end < list.nodes) continue;
    if (end > begin) ranges.push_back({begin, end});
    begin = end;
    held = 0;
  }
  return ranges;
}

// Calls take(row, neighbour, listed) for each edge that belongs to a row of the range; `listed`
// tells an edge of the list from the reverse of one. The few that belong are first found without
// branches: a branch would be mispredicted once per edge taken, and cost more than the scan.
template <class Take>
void for_edges_of(const EdgeList& list, NodeRange range, Take take) {
  std::array<uint32_t, kScanBlock> outgoing, incoming;
  for (size_t begin = 0; begin < list.size(); begin += kScanBlock) {
    size_t outgoing_count = 0, incoming_count = 0;
    size_t count = std::min(kScanBlock, list.size() - begin);
    for (uint32_t i = 0; i < count; ++i) {
      outgoing[outgoing_count] = incoming[incoming_count] = i;
      outgoing_count += range.holds(list.sources[begin + i]);
      incoming_count += range.holds(list.targets[begin + i]);
    }
    for (uint32_t i : std::span(outgoing).first(outgoing_count)) {
      size_t e = begin + i;
      if (!list.dropped(e)) take(list.sources[e] - range.begin, list.targets[e], true);
    }
    for (uint32_t i : std::span(incoming).first(list.options.undirected ? incoming_count : 0)) {
      size_t e = begin + i;
      if (list.reversible(e)) take(list.targets[e] - range.begin, list.sources[e], false);
    }
  }
}

// Raw rows of one range. Row r is two pieces, 2r: its edges of the list, 2r+1: reversed ones.
struct RawRows {
  Buffer<EdgeOffset> ends;  // of each piece
  Buffer<NodeId> neighbours;

  std::span<NodeId> piece(size_t p) {
    size_t begin = p == 0 ? 0 : ends[p - 1];
    return neighbours.span().subspan(begin, ends[p] - begin);
  }
};

RawRows collect(const EdgeList& list, NodeRange range) {
  size_t pieces = 2 * (range.end - range.begin);
  RawRows raw{{pieces, MemoryTag::graph}, {}};
  std::fill(raw.ends.begin(), raw.ends.end(), 0);
  for_edges_of(list, range,
               [&](size_t row, NodeId, bool listed) { ++raw.ends[2 * row + (listed ? 0 : 1)]; });
  // From counts to where each piece begins; filling then moves every begin to its end.
  EdgeOffset total = 0;
  for (EdgeOffset& end : raw.ends) total += std::exchange(end, total);
  raw.neighbours = Buffer<NodeId>(total, MemoryTag::graph);
  for_edges_of(list, range, [&](size_t row, NodeId neighbour, bool listed) {
    raw.neighbours[raw.ends[2 * row + (listed ? 0 : 1)]++] = neighbour;
  });
  return raw;
}

uint64_t count_distinct(std::span<const NodeId> sorted) {
  uint64_t count = 0;
  for (size_t i = 0; i < sorted.size(); ++i) count += i == 0 || sorted[i] != sorted[i - 1];
  return count;
}

// Sorts and merges the two pieces of each row, packs the rows at the front of the scratch and
// copies them to a segment of the right size. degrees[r] becomes the degree of row r.
Segment finish(RawRows raw, bool drop_duplicates, EdgeOffset* degrees) {
  Segment segment;
  std::vector<NodeId> row;
  NodeId* packed = raw.neighbours.data();
  for (size_t r = 0; 2 * r < raw.ends.size(); ++r) {
    auto listed = raw.piece(2 * r), reversed = raw.piece(2 * r + 1);
    std::sort(listed.begin(), listed.end());
    std::sort(reversed.begin(), reversed.end());
    segment.distinct_listed += count_distinct(listed);
    row.resize(listed.size() + reversed.size());
    std::merge(listed.begin(), listed.end(), reversed.begin(), reversed.end(), row.begin());
    auto end = drop_duplicates ? std::unique(row.begin(), row.end()) : row.end();
    degrees[r] = static_cast<EdgeOffset>(end - row.begin());
    packed = std::copy(row.begin(), end, packed);
  }
  segment.neighbours = Buffer<NodeId>(packed - raw.neighbours.data(), MemoryTag::graph);
  std::copy(raw.neighbours.data(), packed, segment.neighbours.data());
  return segment;
}

// One segment after the other, and each goes back to the system once it is copied: pages of the
// result become resident only as they are written, so that the two are never there in full.
Buffer<NodeId> join(std::vector<Segment>& segments) {
  if (segments.size() == 1) return std::move(segments.front().neighbours);
  size_t total = 0, begin = 0;
  for (const Segment& segment : segments) total += segment.neighbours.size();
  Buffer<NodeId> all(total, MemoryTag::graph);
  for (Segment& segment : segments) {
    const NodeId* from = segment.neighbours.data();
    parallel_for(segment.neighbours.size(), kEdgeBlock,
                 [&](size_t b, size_t e) { std::copy(from + b, from + e, &all[begin + b]); });
    begin += segment.neighbours.size();
    segment.neighbours = {};
    trim_memory();
  }
  return all;
}

uint64_t count_dropped(const EdgeList& list) {
  return parallel_sum(list.size(), kEdgeBlock, uint64_t{0}, [&](size_t begin, size_t end) {
    uint64_t count = 0;
    for (size_t e = begin; e < end; ++e) count += list.dropped(e);
    return count;
  });
}

BuildReport make_report(const EdgeList& list, const std::vector<Segment>& segments) {
  uint64_t edges = 0, distinct = 0;
  for (const Segment& segment : segments) {
    edges += segment.neighbours.size();
    distinct += segment.distinct_listed;
  }
  BuildReport report;
  report.self_loops_removed = count_dropped(list);
  uint64_t listed = list.size() - report.self_loops_removed;
  if (list.options.drop_duplicates) report.duplicates_removed = listed - distinct;
  report.edges_reversed = edges - (listed - report.duplicates_removed);
  return report;
}

}  // namespace

BuiltGraph build_csr(size_t nodes, std::span<const NodeId> sources, std::span<const NodeId> targets,
                     const BuildOptions& options) {
  EdgeList list{nodes, sources, targets, options};
  check(list);
  auto ranges = balanced_ranges(list);
  Buffer<EdgeOffset> offsets(nodes + 1, MemoryTag::graph);
  std::vector<Segment> segments(ranges.size());
  parallel_blocks(ranges.size(), [&](size_t r) {
    segments[r] =
        finish(collect(list, ranges[r]), options.drop_duplicates, &offsets[ranges[r].begin] + 1);
  });
  // Scratch this large will not be asked for again: back to the system, not to the heap.
  trim_memory();
  offsets[0] = 0;
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  BuildReport report = make_report(list, segments);
  BuiltGraph built{{std::move(offsets), join(segments), options.undirected}, report};
  trim_memory();
  return built;
}

}  // namespace spex
