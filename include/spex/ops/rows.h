// Operations that choose or join rows and columns.
#pragma once

#include <spex/graph/csr.h>
#include <spex/tensor/tape.h>

#include <span>

namespace spex {

// y[i] = x[rows[i]]. A row may be taken many times. `rows` must outlive the tape.
Var gather_rows(Tape& tape, const Var& x, std::span<const NodeId> rows);

// The first `count` rows. Shares x's buffer: nothing is copied.
Var first_rows(Tape& tape, const Var& x, size_t count);

// a above b.
Var append_rows(Tape& tape, const Var& a, const Var& b);

// [a b], side by side.
Var concatenate(Tape& tape, const Var& a, const Var& b);

}  // namespace spex
