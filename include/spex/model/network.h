// The networks of the paper, which are one network with different options: the attention score
// estimator (narrow, one head, normalised values, temperature), the final Spexphormer (wide, over
// sampled neighbours) and Exphormer (wide, over all edges).
//
//   x = encoder(features), then pre-layers
//   L times:  y = norm(x + dropout(attention(x))),  x = norm(y + dropout(W2 dropout(relu(W1 y))))
//   post-layers, then a linear head
#pragma once

#include <spex/core/random.h>
#include <spex/model/attention_plan.h>
#include <spex/ops/linear.h>
#include <spex/ops/norms.h>
#include <spex/tensor/parameters.h>
#include <spex/tensor/sparse_matrix.h>

#include <deque>
#include <functional>
#include <string>
#include <string_view>

namespace spex {

enum class Norm { layer, batch, graph };

// How an edge's type enters the score: elementwise in k * q (the paper), or through the sum of E's
// entries (the authors' program).
enum class Modulation { elementwise, sum };

struct NetworkOptions {
  size_t inputs = 0;
  size_t outputs = 0;
  size_t width = 32;
  size_t heads = 4;
  size_t layers = 4;
  size_t pre_layers = 1;   // linear, batch norm, ReLU, rows normalised
  size_t post_layers = 0;  // the same, behind the last layer
  Norm norm = Norm::batch;
  float dropout = 0.0F;
  bool normalize_values = false;  // v <- s v / |v|, s learned
  bool scale_by_width = false;    // scores / sqrt(D)
  float clamp = 8.0F;
  bool type_bias = true;  // B
  Modulation modulation = Modulation::elementwise;
  bool log_scores = false;  // a learned weight on the estimator's log-scores
  bool recompute = false;   // keep only the layers' inputs and run each part again in backward
  size_t edge_types = 3;
  size_t virtual_nodes = 0;  // learned inputs for the last so many nodes
};

// Dense rows, or sparse ones that go straight into the first layer.
struct NetworkInput {
  ConstMatrixView dense;
  const SparseMatrix* sparse = nullptr;
};

// One forward pass.
struct Pass {
  bool training = false;
  bool repeated = false;  // of a layer that ran before: running averages stay as they are
  float temperature = 1.0F;
  uint64_t seed = 0;  // of dropout
  uint32_t step = 0;  // of dropout: which optimisation step this is
  // Called with the name and value of each stage; for finding where a number went wrong.
  std::function<void(std::string_view stage, ConstMatrixView value)> inspect;
};

class Network {
 public:
  Network(const NetworkOptions& options, uint64_t seed);

  // Logits of the last layer's queries, virtual nodes left out: queries x outputs.
  Var forward(Tape& tape, const NetworkInput& input, const AttentionPlan& plan, const Pass& pass);

  const NetworkOptions& options() const { return options_; }
  Parameters& parameters() { return parameters_; }
  const Parameters& parameters() const { return parameters_; }

  struct NamedStatistics {
    std::string name;
    RunningStatistics statistics;
  };
  // State that is not learned by gradient: batch norm's running averages.
  std::deque<NamedStatistics>& statistics() { return statistics_; }
  const std::deque<NamedStatistics>& statistics() const { return statistics_; }

 private:
  struct Linear {
    Parameter* weight = nullptr;
    Parameter* bias = nullptr;
  };
  struct NormParameters {
    Norm kind = Norm::layer;
    Parameter* gain = nullptr;
    Parameter* bias = nullptr;
    Parameter* alpha = nullptr;
    RunningStatistics* running = nullptr;
  };
  struct Dense {  // a pre- or post-layer
    Linear linear;
    NormParameters norm;
  };
  struct Layer {
    Linear q, k, v, modulation, bias, up, down;
    Parameter* value_scale = nullptr;
    Parameter* log_score_weight = nullptr;
    NormParameters norm1, norm2;
  };

  Linear add_linear(const std::string& name, size_t inputs, size_t outputs, bool bias);
  NormParameters add_norm(const std::string& name, Norm kind);
  Dense add_dense(const std::string& name);
  Layer add_layer(const std::string& name);
  void initialise(uint64_t seed);

  Var apply(Tape& tape, const Linear& linear, const Var& x);
  Var apply(Tape& tape, const NormParameters& norm, const Var& x, const Pass& pass);
  Var finish(Tape& tape, const Dense& dense, const Var& y, const Pass& pass);
  Var encode(Tape& tape, const NetworkInput& input);
  Var attend(Tape& tape, size_t index, const Var& x, const Var& queries, const AttentionPlan& plan,
             const Pass& pass);
  Var run_layer(Tape& tape, size_t index, const Var& x, const AttentionPlan& plan,
                const Pass& pass);
  Var run_front(Tape& tape, const NetworkInput& input, const Pass& pass);
  using Part = std::function<Var(Tape&, const Var& x, const Pass&)>;
  static Var run_twice(Tape& tape, const Var& x, const Pass& pass, const Part& part);

  NetworkOptions options_;
  Parameters parameters_;
  std::deque<NamedStatistics> statistics_;
  Linear encoder_, head_;
  Parameter* type_embedding_ = nullptr;
  Parameter* virtual_embedding_ = nullptr;
  Matrix ones_;  // for Modulation::sum
  std::deque<Dense> pre_, post_;
  std::deque<Layer> layers_;
};

}  // namespace spex
