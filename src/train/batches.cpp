#include <spex/core/error.h>
#include <spex/train/batches.h>

#include "train/batch_kinds.h"

namespace spex {

std::unique_ptr<Batches> make_batches(const Ground& ground, std::span<const NodeId> train,
                                      const Needs& needs, const BatchOptions& options) {
  bool sampled = !needs.sampling.degrees.empty();
  bool all = options.batch_size == 0 || options.batch_size >= ground.data.nodes();
  if (all || needs.batching == Batching::none)
    return sampled ? whole_sample(ground, train, needs, options)
                   : whole_graph(ground, train, needs, options);
  switch (needs.batching) {
    case Batching::sampled:
      return sampled_batches(ground, train, needs, options);
    case Batching::random_nodes:
      return random_node_batches(ground, train, options);
    case Batching::subgraphs:
      return subgraph_batches(ground, train, needs, options);
    case Batching::rows:
      return row_batches(ground, train, options);
    default:
      fail("this model cannot be trained in batches; leave batch_size at 0");
  }
}

Matrix collect_rows(Batches& batches, size_t epoch, std::span<const NodeId> nodes,
                    const std::function<Var(const Step&)>& compute) {
  Matrix result;
  size_t done = 0;
  batches.evaluate(epoch, nodes, [&](const Step& step) {
    Var out = compute(step);
    if (!out) return;
    // Not before the pass: while it runs it needs the memory more.
    if (done == 0) result = Matrix(nodes.size(), out.cols(), MemoryTag::activations);
    bool all = step.nodes.empty();
    size_t count = all ? nodes.size() : step.rows.size();
    for (size_t i = 0; i < count; ++i)
      copy(result.view().block(done + i, 1), out.value().block(all ? nodes[i] : step.rows[i], 1));
    done += count;
  });
  return result;
}

Matrix evaluate(Model& model, Batches& batches, const Pass& pass, std::span<const NodeId> nodes) {
  return collect_rows(batches, pass.epoch, nodes, [&](const Step& step) {
    Tape tape(false);
    return model.forward(tape, step.input, *step.neighbourhood, pass);
  });
}

}  // namespace spex
