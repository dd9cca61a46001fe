#include <fmt/format.h>
#include <spex/data/info.h>

#include <algorithm>
#include <iterator>

namespace spex {
namespace {

constexpr size_t kClassesShown = 20;

std::string bytes_text(size_t bytes) {
  constexpr const char* kUnits[] = {"B", "KB", "MB", "GB", "TB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1000 && unit < 4; ++unit) value /= 1000;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string grouped(size_t number) {
  std::string digits = std::to_string(number), text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

// Lines of a name and what is to be said.
class Page {
 public:
  template <class... Args>
  void line(const char* name, fmt::format_string<Args...> text, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), "{:<16}", name);
    fmt::format_to(std::back_inserter(text_), text, std::forward<Args>(args)...);
    text_ += '\n';
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

void write_graph(Page& page, const DatasetInfo& info) {
  page.line("nodes", "{}{}", grouped(info.nodes),
            info.first_key.empty() && info.last_key.empty()
                ? std::string()
                : fmt::format(", called {} .. {}", info.first_key, info.last_key));
  if (info.symmetric)
    page.line("edges", "{} directed, {} undirected", grouped(info.edges),
              grouped((info.edges - info.self_loops) / 2 + info.self_loops));
  else
    page.line("edges", "{} directed", grouped(info.edges));
  page.line("degree", "mean {:.2f}, median {}, 90% {}, 99% {}, max {}", info.mean_degree,
            info.median_degree, info.degree_90, info.degree_99, grouped(info.max_degree));
  page.line("isolated nodes", "{}", grouped(info.isolated_nodes));
  page.line("self-loops", "{} kept, {} removed", grouped(info.self_loops),
            grouped(info.cleaning.self_loops_removed));
  page.line("duplicates", "{} removed", grouped(info.cleaning.duplicates_removed));
  page.line("reversed", "{} edges got their reverse", grouped(info.cleaning.edges_reversed));
}

void write_labels(Page& page, const DatasetInfo& info) {
  if (info.outputs == 0) return page.line("labels", "none");
  const char* kind = info.task == Task::classes         ? "classes"
                     : info.task == Task::binary_labels ? "binary labels"
                                                        : "real targets";
  page.line("labels", "{} {}, {} nodes labelled", info.outputs, kind, grouped(info.labelled_nodes));
  size_t shown = std::min(info.classes.size(), kClassesShown);
  for (size_t c = 0; c < shown; ++c)
    page.line("", "{:<24} {:>10}  {:5.1f}%", info.classes[c].name, grouped(info.classes[c].nodes),
              100 * info.classes[c].share);
  if (shown < info.classes.size()) page.line("", "and {} more", info.classes.size() - shown);
  if (info.homophily_edges > 0)
    page.line("edge homophily", "{:.3f} of {} edges between labelled nodes", info.edge_homophily,
              grouped(info.homophily_edges));
}

// Splits mostly have the same sizes; then one line says it.
void write_splits(Page& page, const std::vector<SplitSizes>& splits) {
  if (splits.empty()) return page.line("splits", "none stored");
  auto sizes = [](const SplitSizes& split) {
    return fmt::format("{} training, {} validation, {} test", grouped(split.train),
                       grouped(split.validation), grouped(split.test));
  };
  bool same = std::all_of(splits.begin(), splits.end(), [&](const SplitSizes& split) {
    return sizes(split) == sizes(splits[0]);
  });
  if (same && splits.size() > 1)
    return page.line("splits", "{} stored, each {}", splits.size(), sizes(splits[0]));
  for (size_t s = 0; s < splits.size(); ++s)
    page.line(s == 0 ? "splits" : "", "{}: {}", s, sizes(splits[s]));
}

}  // namespace

std::string format(const DatasetInfo& info) {
  Page page;
  page.line("name", "{}{}", info.name, info.synthetic ? " (synthetic: made, not measured)" : "");
  page.line("source", "{}", info.source);
  write_graph(page, info);
  page.line("features", "{}, {}, {:.2f}% not zero", grouped(info.features),
            info.sparse_features ? "sparse" : "dense", 100 * info.feature_density);
  if (info.edge_feature_count > 0) page.line("edge features", "{}", info.edge_feature_count);
  write_labels(page, info);
  write_splits(page, info.splits);
  page.line("bytes", "{}: graph {}, features {}, labels {}, the rest {}",
            bytes_text(info.graph_bytes + info.feature_bytes + info.label_bytes + info.other_bytes),
            bytes_text(info.graph_bytes), bytes_text(info.feature_bytes),
            bytes_text(info.label_bytes), bytes_text(info.other_bytes));
  return page.take();
}

}  // namespace spex
