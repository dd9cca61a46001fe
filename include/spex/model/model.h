// What a model is: a function from features and neighbourhoods to logits, with its parameters in
// one table. Runner, trainer, planner, predictor and report know no model by name; the registry
// does.
#pragma once

#include <spex/core/settings.h>
#include <spex/graph/sampling.h>
#include <spex/model/neighbourhood.h>
#include <spex/tensor/parameters.h>
#include <spex/tensor/sparse_matrix.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace spex {

// Dense rows, or sparse ones that go straight into the first layer.
struct ModelInput {
  ConstMatrixView dense;
  const SparseMatrix* sparse = nullptr;
  size_t rows() const { return sparse ? sparse->rows : dense.rows; }
};

// The rows that batch norm's statistics are of, in layers that compute `of` rows or more; in other
// layers they are of all rows. None: of all rows everywhere.
struct CountedRows {
  std::span<const NodeId> rows;
  size_t of = 0;
};

// One forward pass.
struct Pass {
  bool training = false;
  bool repeated = false;  // of a layer that ran before: running averages stay as they are
  float temperature = 1.0F;
  size_t epoch = 0;
  uint64_t seed = 0;  // of dropout
  uint32_t step = 0;  // of dropout: which optimisation step this is
  CountedRows counted;
  // Called with the name and value of each stage; for finding where a number went wrong.
  std::function<void(std::string_view stage, ConstMatrixView value)> inspect;
  // Where a model leaves what is to be added to the loss, 1 x 1; null: nobody asks.
  Var* penalty = nullptr;
};

// How a model is trained where not the whole graph is at once.
enum class Batching {
  none,          // it needs the whole graph
  sampled,       // target nodes and the neighbours drawn for them, layer by layer
  random_nodes,  // random nodes and the edges among them
  subgraphs,     // GraphSAINT: sampled subgraphs, with weights that undo the sampling's bias
  rows,          // rows of features: it looks at no neighbour
};

// What a model must be given.
struct Needs {
  bool attention = false;  // the graph with expander and self-loops, for attention
  bool local = false;      // the graph's own edges, undirected, with self-loops, for aggregation
  bool scores = false;     // an estimator's scores, to draw by or to read
  bool edge_features = false;  // it uses features of the graph's edges, where there are any
  bool every_row = false;    // a norm or an attention over all nodes: each layer computes them all
  bool own_nodes = false;    // it learns something for each node: no other graph can be its input
  bool all_pairs = false;    // every node meets every other: time grows with the square
  size_t virtual_nodes = 0;  // of the attention graph
  size_t hops = 0;           // features made of X, Ahat X, .. Ahat^hops X, side by side
  size_t eigenvectors = 0;   // of the Laplacian, behind the features X
  size_t layers = 1;         // that look at neighbours
  size_t row_floats = 0;     // of a neighbour that a layer reads per edge; for forecasts of time
  size_t restart_epoch = 0;  // training goes on from the best so far, and looks for a best anew
  Batching batching = Batching::none;
  // The attention graph is, in place of edges and expander, a ball around each node: of each node
  // at distance t - 1 so many neighbours as entry t says. Edge type t is distance t.
  std::vector<size_t> ball;
  SubgraphOptions subgraphs;  // for Batching::subgraphs, but for the draws: batch_size is those
  SamplingOptions sampling;   // for Batching::sampled; whole graphs are sampled if it has degrees

  size_t edge_types() const {  // of the attention graph
    return ball.empty() ? (virtual_nodes > 0 ? 4 : 3) : ball.size() + 1;
  }
  // Trained in batches, it is still evaluated on all edges of the whole graph, layer by layer.
  bool evaluates_whole() const {
    bool targets = batching == Batching::rows || !sampling.degrees.empty();
    return batching != Batching::none && !targets;
  }
};

// Of a model with attention over all nodes beside sums over the graph's own edges.
Needs all_nodes_needs(size_t layers, size_t row_floats);

// How many nodes the last layer computes in training when the whole graph is trained at once: the
// training nodes, unless those are nearly all or the graph is small. Nothing reads its other rows.
size_t nodes_computed_last(const Needs& needs, size_t train_nodes, size_t nodes);

struct Shape {
  size_t inputs = 0;
  size_t outputs = 0;        // logits per node
  size_t edge_types = 3;     // of the attention graph
  size_t nodes = 0;          // of the graph, for models that learn something for each
  size_t edge_features = 0;  // of each of the graph's own edges; 0: none
};

class Model {
 public:
  explicit Model(const Shape& shape) : shape_(shape) {}
  virtual ~Model() = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  // Logits of what the last layer computes, virtual nodes left out.
  virtual Var forward(Tape& tape, const ModelInput& input, const Neighbourhood& neighbourhood,
                      const Pass& pass) = 0;

  const Shape& shape() const { return shape_; }
  Parameters& parameters() { return parameters_; }
  const Parameters& parameters() const { return parameters_; }

  // State that is not learned by gradient: batch norm's running averages, centroids. Whoever adds
  // it owns the numbers and leaves them in their place for as long as the model lives.
  struct NamedState {
    std::string name;
    std::span<float> values;
  };
  std::vector<NamedState>& state() { return state_; }
  const std::vector<NamedState>& state() const { return state_; }

 private:
  Shape shape_;
  Parameters parameters_;
  std::vector<NamedState> state_;
};

// The settings of a kind of model, and how one is made of them.
struct ModelOptions {
  virtual ~ModelOptions() = default;
  virtual void list(SettingList& settings) = 0;
  virtual Needs needs() const = 0;
  virtual std::unique_ptr<Model> make(const Shape& shape, uint64_t seed) const = 0;
  virtual std::unique_ptr<ModelOptions> clone() const = 0;
  virtual void check() const {}  // throws where values do not go together
  virtual std::vector<std::string> idle() const { return {}; }  // settings that change nothing now
  virtual double temperature(size_t) const { return 1.0; }      // of the softmax, by epoch
  virtual size_t tries() const { return 1; }  // with consecutive seeds; the best is kept
  virtual void serve(const Needs&) {}         // told of the model that will use its scores
};

// What every kind of options derives from: struct GcnOptions : Options<GcnOptions> { .. }.
template <class Self>
struct Options : ModelOptions {
  std::unique_ptr<ModelOptions> clone() const override {
    return std::make_unique<Self>(static_cast<const Self&>(*this));
  }
};

}  // namespace spex
