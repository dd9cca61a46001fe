// What a result must beat to show that edges matter: a perceptron of the same features, trained for
// some seconds on the same split, and for no more epochs than the run's final network.
#pragma once

#include <spex/run/problem.h>

namespace spex {

// Its test metric at its best validation epoch. Not a number where there is none to compare with:
// the model has no edges itself, was given averages over neighbours as features, or the graph is so
// large that the perceptron would take minutes.
double edgeless_score(const Problem& problem, const Config& config);

}  // namespace spex
