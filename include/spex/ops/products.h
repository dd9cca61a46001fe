// Products and inverses of values neither of which is a layer's weight. linear() serves for a b.
#pragma once

#include <spex/tensor/tape.h>

namespace spex {

// a^T b, for a: N x A and b: N x B with many rows. a and b may be the same Var.
Var cross_product(Tape& tape, const Var& a, const Var& b);

// The inverse of a small square matrix, computed in double precision. Fails if there is none.
Var inverse(Tape& tape, const Var& a);

}  // namespace spex
