// Operations that treat every number alike.
#pragma once

#include <spex/core/random.h>
#include <spex/tensor/tape.h>

namespace spex {

Var relu(Tape& tape, const Var& x);
Var add(Tape& tape, const Var& a, const Var& b);
Var scale(Tape& tape, const Var& x, const Var& s);  // s: 1 x 1

// x + dropout(branch), in one pass. Dropout drops each number with probability `rate` (to a
// precision of 1/65536) and multiplies the others by 1 / (1 - rate). Which ones is a function of
// (random, position), so no mask is stored.
Var add_dropped(Tape& tape, const Var& x, const Var& branch, float rate, const Random& random);

}  // namespace spex
