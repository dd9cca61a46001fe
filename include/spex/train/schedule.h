// The learning rate from epoch to epoch. Epochs count from 0.
#pragma once

#include <spex/model/recipe.h>

namespace spex {

// Rises linearly over the warm-up, then falls as a half cosine to 0 at the last epoch, or stays.
double learning_rate(const Recipe& recipe, size_t epoch);

}  // namespace spex
