// What a run says of nodes and edges.
#include <spex/run/run.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "c_api/arrays.h"
#include "c_api/handles.h"

namespace spex::c_api {
namespace {

void require_model(const spex_run& run) {
  require(run.can_predict,
          "the run in {} was stopped before there was anything to predict with; continue it",
          run.directory->text);
}

// The run on its own graph, opened once.
const Predictor& predictor_of(spex_run& run) {
  require_model(run);
  if (!run.predictor) run.predictor = open_run(run.directory->path, run.data);
  return *run.predictor;
}

std::vector<NodeId> nodes_of(const spex_array& array, size_t count) {
  std::vector<NodeId> nodes(count);
  std::iota(nodes.begin(), nodes.end(), 0U);
  if (!present(array)) return nodes;
  if (array.type == SPEX_BOOL) {
    check_array(array, "the nodes", 1, 1);
    require(rows(array) == count, "the nodes: a mask of {} for {} nodes", rows(array), count);
    visit(array, [&](auto element) {
      std::erase_if(nodes, [&](NodeId node) { return element(node) == 0; });
    });
    return nodes;
  }
  check_integers(array, "the nodes", 1);
  nodes.resize(rows(array));
  visit(array, [&](auto element) {
    for (size_t i = 0; i < nodes.size(); ++i)
      nodes[i] = node_of(element(i), count, [&] { return fmt::format("entry {}", i); });
  });
  return nodes;
}

Matrix output_of(const Predictor& predictor, spex_output output, std::span<const NodeId> nodes,
                 const spex_predict_options& options) {
  switch (output) {
    case SPEX_PROBABILITIES:
      return predictor.probabilities(nodes, options.batch, std::max<size_t>(1, options.samples));
    case SPEX_LOGITS:
      return predictor.logits(nodes, options.batch);
    case SPEX_EMBEDDINGS:
      return predictor.embeddings(nodes, options.batch);
  }
  fail("there is no output {}", static_cast<int>(output));
}

// A node may be asked for several times, and is computed once.
Matrix rows_in_order(const Predictor& predictor, spex_output output,
                     const std::vector<NodeId>& nodes, const spex_predict_options& options) {
  std::vector<NodeId> once = nodes;
  std::sort(once.begin(), once.end());
  once.erase(std::unique(once.begin(), once.end()), once.end());
  if (once.size() == nodes.size()) return output_of(predictor, output, nodes, options);
  Matrix values = output_of(predictor, output, once, options);
  Matrix result(nodes.size(), values.cols(), MemoryTag::activations);
  for (size_t i = 0; i < nodes.size(); ++i) {
    auto place = std::lower_bound(once.begin(), once.end(), nodes[i]) - once.begin();
    copy(result.view().block(i, 1), values.view().block(static_cast<size_t>(place), 1));
  }
  return result;
}

// The place in the attention graph of what `target` sees of `source`; edges() where it sees
// nothing.
EdgeOffset place_of(const AttentionGraph& graph, NodeId target, NodeId source) {
  auto type = static_cast<size_t>(target == source ? EdgeType::self_loop : EdgeType::graph);
  const NodeId* begin = graph.neighbours.data() + graph.segment_begin(type, target);
  const NodeId* end = graph.neighbours.data() + graph.segment_end(type, target);
  const NodeId* found = std::lower_bound(begin, end, source);
  if (found == end || *found != source) return graph.edges();
  return static_cast<EdgeOffset>(found - graph.neighbours.data());
}

float score_at(std::span<const Half> scores, EdgeOffset place) {
  float score = std::numeric_limits<float>::quiet_NaN();
  if (place < scores.size()) to_float({&score, 1}, scores.subspan(place, 1));
  return score;
}

Matrix attention_of(const Predictor& predictor, size_t layer, const spex_array& edges) {
  const AttentionGraph& graph = predictor.ground.attention;
  Scores scores = predictor.attention();
  require(layer < scores.layers.size(), "there is no layer {}: the scores are of {}", layer,
          scores.layers.size());
  std::span<const Half> of_layer = scores.layers[layer].span();
  if (!present(edges)) {
    const CsrGraph& own = predictor.ground.data.graph;
    Matrix result(own.edges(), 1, MemoryTag::activations);
    for (size_t i = 0; i < own.nodes(); ++i)
      for (EdgeOffset e = own.offsets[i]; e < own.offsets[i + 1]; ++e)
        result(e, 0) =
            score_at(of_layer, place_of(graph, static_cast<NodeId>(i), own.neighbours[e]));
    return result;
  }
  check_integers(edges, "the edges", 2);
  require(rows(edges) == 2, "the edges are [{}, {}], expected [2, edges]", rows(edges),
          columns(edges));
  size_t nodes = predictor.ground.data.nodes();
  Matrix result(columns(edges), 1, MemoryTag::activations);
  visit(edges, [&](auto element) {
    for (size_t e = 0; e < columns(edges); ++e) {
      auto name = [&] { return fmt::format("edge {}", e); };
      NodeId source = node_of(element(0, e), nodes, name),
             target = node_of(element(1, e), nodes, name);
      result(e, 0) = score_at(of_layer, place_of(graph, target, source));
    }
  });
  return result;
}

}  // namespace
}  // namespace spex::c_api

using namespace spex::c_api;  // NOLINT

spex_status spex_run_predict(spex_run* run, spex_output output, spex_array nodes,
                             const spex_predict_options* options, spex_result** result) {
  return computed([&] {
    spex_predict_options asked = options_of(options);
    auto answer = [&](const spex::Predictor& predictor) {
      auto ids = nodes_of(nodes, predictor.ground.data.nodes());
      return rows_in_order(predictor, output, ids, asked);
    };
    auto made = std::make_unique<spex_result>();
    require_model(given(run, "run"));
    made->values = asked.data ? answer(spex::open_run_on(run->directory->path, built(asked.data)))
                              : answer(predictor_of(*run));
    given(result, "result") = made.release();
  });
}

spex_status spex_run_attention(spex_run* run, size_t layer, spex_array edges,
                               spex_result** result) {
  return computed([&] {
    auto made = std::make_unique<spex_result>();
    made->values = attention_of(predictor_of(given(run, "run")), layer, edges);
    given(result, "result") = made.release();
  });
}
