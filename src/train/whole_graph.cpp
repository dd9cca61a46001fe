#include <spex/core/stopwatch.h>
#include <spex/sample/batch.h>

#include <algorithm>

#include "train/batch_kinds.h"
#include "train/sampled_neighbours.h"

namespace spex {
namespace {

// The nodes that the last layer computes in training, in order; none: all of them.
std::vector<NodeId> trained_part(std::span<const NodeId> train, const Needs& needs, size_t nodes) {
  std::vector<NodeId> part;
  if (nodes_computed_last(needs, train.size(), nodes) < nodes)
    part.assign(train.begin(), train.end());
  std::sort(part.begin(), part.end());
  return part;
}

constexpr size_t kFewestCounted = 16;  // training nodes that statistics can be of

// What both kinds share: which rows count. Unless told otherwise, batch norm takes its statistics from
// the training nodes: over all rows, telling those from the others would lower the loss, and what a
// unit learns of all training nodes in common would appear with the opposite sign in the others.
class AtOnce : public Batches {
 public:
  AtOnce(const Ground& ground, std::span<const NodeId> train, const Needs& needs,
         bool norm_over_all)
      : input_(whole_input(ground.data.features)),
        train_(train),
        part_(trained_part(train, needs, ground.data.nodes())),
        all_(first_nodes(ground.data.nodes())),
        places_(first_nodes(part_.size())) {
    if (!norm_over_all && train.size() >= kFewestCounted) counted_ = {train, all_.size()};
  }

  bool evaluates_all() const override { return true; }

 protected:
  Step training_step(const Neighbourhood& neighbourhood) const {
    Step step{input_, &neighbourhood, part_, places_, {}, 0, counted_};
    if (part_.empty()) step.rows = train_;
    return step;
  }
  Step evaluation_step(const Neighbourhood& neighbourhood) const {
    return {input_, &neighbourhood, {}, all_, {}, 0, {}};
  }

  ModelInput input_;
  std::span<const NodeId> train_;
  std::vector<NodeId> part_;  // what training lets the last layer compute; empty: all
  std::vector<NodeId> all_, places_;
  CountedRows counted_;
};

class WholeGraph : public AtOnce {
 public:
  WholeGraph(const Ground& ground, std::span<const NodeId> train, const Needs& needs,
             bool norm_over_all, size_t row_parts)
      : AtOnce(ground, train, needs, norm_over_all), whole_(whole_neighbourhood(ground.graphs())) {
    whole_.row_parts = row_parts;
    if (part_.empty()) return;
    chosen_ = choose_rows(ground.graphs(), part_);
    training_ = whole_neighbourhood(ground.graphs(), needs.layers, chosen_);
  }

  void train(size_t, const Use& use) override {
    use(training_step(part_.empty() ? whole_ : training_));
  }
  void evaluate(size_t, std::span<const NodeId>, const Use& use) override {
    use(evaluation_step(whole_));
  }

 private:
  Neighbourhood whole_, training_;
  ChosenGraphs chosen_;
};

// One sample serves training, validation and test of an epoch. The graph's own edges are few and
// all there.
class WholeSample : public AtOnce {
 public:
  WholeSample(const Ground& ground, std::span<const NodeId> train, const Needs& needs,
              const BatchOptions& options)
      : AtOnce(ground, train, needs, options.norm_over_all),
        ground_(ground),
        needs_(needs),
        neighbours_(ground, needs.sampling, false, options.seed),
        local_(whole_neighbourhood({nullptr, nullptr, ground.graphs().local})) {
    if (!part_.empty() && ground.graphs().local)
      chosen_ = choose_rows({nullptr, nullptr, ground.graphs().local}, part_);
  }

  void train(size_t epoch, const Use& use) override {
    double seconds = sample(epoch);
    NeighbourMatrix last;  // of the nodes that are trained on
    Neighbourhood part;
    if (!part_.empty()) {
      last = choose_rows(batch_.layers.back(), part_);
      part = trained_neighbourhood(last);
    }
    Step step = training_step(part_.empty() ? whole_ : part);
    step.seconds = seconds;
    use(step);
  }
  void evaluate(size_t epoch, std::span<const NodeId>, const Use& use) override {
    sample(epoch);
    use(evaluation_step(whole_));
  }

 private:
  double sample(size_t epoch) {
    Stopwatch watch;
    uint32_t wanted = neighbours_.sample_of(epoch);
    if (batch_.layers.empty() || sample_ != wanted) {
      sample_ = wanted;
      whole_ = {};
      batch_ = {};  // before the new one: two samples are never held
      batch_ = neighbours_.builder().build(all_, sample_);
      whole_ = sampled_neighbourhood(batch_.layers);
      for (Neighbourhood::Layer& layer : whole_.layers) add_local(layer, local_);
    }
    return watch.seconds();
  }

  Neighbourhood trained_neighbourhood(const NeighbourMatrix& last) const {
    Neighbourhood part = whole_;
    part.layers.back().attention = Pattern::sampled(last);
    part.layers.back().chosen = part_;
    if (ground_.graphs().local)
      add_local(part.layers.back(),
                whole_neighbourhood({nullptr, nullptr, ground_.graphs().local}, 1, chosen_));
    return part;
  }

  static void add_local(Neighbourhood::Layer& layer, const Neighbourhood& local) {
    if (local.layers.empty()) return;
    layer.local = local.layers.front().local;
    layer.factors = local.layers.front().factors;
  }

  const Ground& ground_;
  Needs needs_;
  SampledNeighbours neighbours_;
  Neighbourhood local_, whole_;
  ChosenGraphs chosen_;
  Batch batch_;
  uint32_t sample_ = 0;
};

}  // namespace

std::unique_ptr<Batches> whole_graph(const Ground& ground, std::span<const NodeId> train,
                                     const Needs& needs, const BatchOptions& options) {
  return std::make_unique<WholeGraph>(ground, train, needs, options.norm_over_all, 1);
}

std::unique_ptr<Batches> whole_evaluation(const Ground& ground) {
  return std::make_unique<WholeGraph>(ground, std::span<const NodeId>(), Needs(), false, kRowParts);
}

std::unique_ptr<Batches> whole_sample(const Ground& ground, std::span<const NodeId> train,
                                      const Needs& needs, const BatchOptions& options) {
  return std::make_unique<WholeSample>(ground, train, needs, options);
}

}  // namespace spex
