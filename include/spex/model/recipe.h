// How a model is trained: what its authors, or we, found to work unless said otherwise.
#pragma once

#include <spex/core/settings.h>

namespace spex {

enum class Schedule {
  cosine,    // linear warm-up, then a half cosine down to 0
  constant,  // linear warm-up, then the same rate
};
enum class Decay {
  decoupled,  // AdamW: the weights shrink by rate x decay
  gradient,   // Adam with L2: the decay is part of the gradient
};

enum class ClassWeights {
  none,        // every training node counts the same
  balanced,    // every class counts the same: a node by n / (classes x nodes of its class)
  validation,  // as if the classes were as frequent as among the validation nodes
};

struct Recipe {
  size_t epochs = 100;
  double learning_rate = 0.01;
  Schedule schedule = Schedule::cosine;
  size_t warmup = 5;
  double weight_decay = 1e-3;
  Decay decay = Decay::decoupled;
  double clip = 1.0;  // 0: not clipped
  size_t batch_size = 0;
  size_t evaluate_every = 1;
  size_t patience = 0;
  bool norm_over_all = false;
  ClassWeights class_weights = ClassWeights::none;

  void list(SettingList& s) {
    static const Words<Schedule> schedules = {{"cosine", Schedule::cosine},
                                              {"constant", Schedule::constant}};
    static const Words<Decay> decays = {{"decoupled", Decay::decoupled},
                                        {"gradient", Decay::gradient}};
    static const Words<ClassWeights> weights = {{"none", ClassWeights::none},
                                                {"balanced", ClassWeights::balanced},
                                                {"validation", ClassWeights::validation}};
    s.add("epochs", epochs, {1, 1e6}, "passes over the data");
    s.add("learning_rate", learning_rate, {0, 1e30, Range::above}, "largest learning rate");
    s.add("schedule", schedule, schedules, "cosine or constant, after the warm-up");
    s.add("warmup", warmup, {0, 1e6}, "epochs of linear warm-up");
    s.add("weight_decay", weight_decay, {0, 1e6}, "how strongly weights are pulled to zero");
    s.add("decay", decay, decays, "decoupled (AdamW) or gradient (Adam with L2)");
    s.add("clip", clip, {0, 1e30}, "largest norm of the gradient; 0: any");
    s.add("batch_size", batch_size, {0, 1e10}, "target nodes per step; 0: all at once");
    s.add("evaluate_every", evaluate_every, {1, 1e6}, "epochs between evaluations");
    s.add("patience", patience, {0, 1e6},
          "stop after so many evaluations without a better one; 0: never");
    s.add(
        "norm_over_all", norm_over_all,
        "on the whole graph, batch norm's statistics are of all nodes, not of the training nodes");
    s.add("class_weights", class_weights, weights,
          "none; balanced: rare classes count as much as frequent ones; validation: as frequent as "
          "among validation nodes");
  }
};

}  // namespace spex
