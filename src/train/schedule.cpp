#include <spex/train/schedule.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace spex {

double learning_rate(const Recipe& recipe, size_t epoch) {
  auto ratio = [](size_t a, size_t b) { return static_cast<double>(a) / static_cast<double>(b); };
  double base = recipe.learning_rate;
  if (epoch < recipe.warmup) return base * std::max(1e-6, ratio(epoch, recipe.warmup));
  if (recipe.schedule == Schedule::constant) return base;
  if (epoch >= recipe.epochs) return 0.0;
  double progress = ratio(epoch - recipe.warmup, recipe.epochs - recipe.warmup);
  return base * 0.5 * (1.0 + std::cos(std::numbers::pi * progress));
}

}  // namespace spex
