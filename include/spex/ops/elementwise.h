// Operations that treat every number alike, or every number of a column. Those that take their first
// input by value write to its buffer, if it was handed over: relu(tape, std::move(x)).
#pragma once

#include <spex/core/random.h>
#include <spex/tensor/tape.h>

namespace spex {

Var relu(Tape& tape, Var x);
Var sigmoid(Tape& tape, const Var& x);
Var elu(Tape& tape, const Var& x);   // x for x > 0, e^x - 1 elsewhere
Var gelu(Tape& tape, const Var& x);  // x P(x), P the distribution function of the normal law

Var add(Tape& tape, Var a, const Var& b);
Var combine(Tape& tape, Var a, float wa, const Var& b, float wb);  // wa a + wb b
Var multiply(Tape& tape, const Var& a, const Var& b);              // number by number
Var scale(Tape& tape, const Var& x, float factor);

// The same with learned factors. s: 1 x G, where G divides the columns: the first 1/G of the
// columns is multiplied by the first number, and so on. G = 1: one factor; the number of heads: one
// for each.
Var scale(Tape& tape, const Var& x, const Var& s);

Var add_row(Tape& tape, Var x, const Var& r);  // r: 1 x C, added to every row

// (1 - beta) a + beta b. beta: 1 x C, learned.
Var interpolate(Tape& tape, const Var& a, const Var& b, const Var& beta);

// Dropout drops each number with probability `rate` (to a precision of 1/65536) and multiplies the
// others by 1 / (1 - rate). Which ones is a function of (random, position), so no mask is stored.
Var dropout(Tape& tape, const Var& x, float rate, const Random& random);

// dropout(relu(x)) and x + dropout(branch), each in one pass and keeping one matrix less.
Var relu_dropped(Tape& tape, Var x, float rate, const Random& random);
Var add_dropped(Tape& tape, const Var& x, const Var& branch, float rate, const Random& random);

}  // namespace spex
