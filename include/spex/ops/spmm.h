// y = A x for the adjacency A of a graph, plain or normalised.
#pragma once

#include <spex/graph/csr.h>
#include <spex/tensor/tape.h>

namespace spex {

// Row i of the result is the sum over i's neighbours j of w_ij x[j], where w_ij is 1, 1 /
// degree(i), or 1 / sqrt(degree(i) degree(j)); the degree is the length of a row. A node without
// neighbours gets zeros.
enum class Normalisation { none, mean, symmetric };

// Backward walks the transpose, row by row: a graph that is not symmetric must come with it. Both
// must outlive the tape.
Var spmm(Tape& tape, const CsrGraph& graph, const Var& x, Normalisation normalisation,
         const CsrGraph* transposed = nullptr);

}  // namespace spex
