// Adam, with decoupled weight decay (AdamW: Loshchilov and Hutter, "Decoupled weight decay
// regularization") or with L2 in the gradient, and gradient clipping, over a model's table of
// parameters.
#pragma once

#include <spex/model/recipe.h>
#include <spex/tensor/parameters.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace spex {

struct AdamOptions {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 1e-3;  // applied to every parameter
  Decay decay = Decay::decoupled;
};

class Adam {
 public:
  // The table must not grow afterwards, and must outlive the optimiser.
  explicit Adam(Parameters& parameters, AdamOptions options = {});

  void step(double learning_rate);  // reads the gradients, leaves them as they are

  // The state, for checkpoints; i counts the parameters in the order of the table.
  Matrix& first_moment(size_t i) { return moments_[i].first; }
  Matrix& second_moment(size_t i) { return moments_[i].second; }
  uint64_t& steps() { return steps_; }

 private:
  struct Moments {
    Matrix first, second;
  };
  Parameters& parameters_;
  AdamOptions options_;
  std::vector<Moments> moments_;
  uint64_t steps_ = 0;
};

// Scales all gradients by min(1, max_norm / (norm + 1e-6)), or not at all if max_norm is 0, where
// norm is the length of all of them taken as one vector. Returns that norm, before clipping.
double clip_gradients(Parameters& parameters, double max_norm);

}  // namespace spex
