// Included by *.simd.cpp only, as all that stands in an instruction set's namespace.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/neighbour_rows.h"

namespace spex::SPEX_ISA {

// Runs ahead of the entries in use, from row to row, and asks for the table's rows they will need.
class Ahead {
 public:
  Ahead(const NeighbourRows& rows, size_t begin, size_t end, bool wanted)
      : rows_(&rows), row_(begin), last_(end) {
    if (wanted && begin < end) enter_row();
    for (size_t i = 0; i < kDistance; ++i) next();
  }

  // Fetches the floats [0, floats) of one more row of `table`, and a row of a second table.
  [[gnu::always_inline]] void fetch(const float* table, size_t stride, size_t floats,
                                    const float* beside, size_t beside_stride) {
    if (!at_) return;
    const float* row = table + size_t{*at_} * stride;
    for (size_t c = 0; c < floats; c += 16) __builtin_prefetch(row + c);
    if (reinterpret_cast<uintptr_t>(row) % 64) __builtin_prefetch(row + floats - 1);
    for (size_t c = 0; c < beside_stride; c += 16)
      __builtin_prefetch(beside + size_t{*at_} * beside_stride + c);
    next();
  }

 private:
  static constexpr size_t kDistance = 16;

  [[gnu::always_inline]] void next() {
    if (!at_ || ++at_ != end_) return;
    ++row_;
    enter_row();
  }
  [[gnu::always_inline]] void enter_row() {
    at_ = nullptr;
    for (; row_ < last_; ++row_) {
      size_t begin = rows_->begin(row_), end = rows_->end(row_);
      if (begin == end) continue;
      at_ = rows_->ids + begin;
      end_ = rows_->ids + end;
      return;
    }
  }

  const NeighbourRows* rows_;
  size_t row_, last_;
  const NodeId* at_ = nullptr;  // null: nothing is left to fetch
  const NodeId* end_ = nullptr;
};

}  // namespace spex::SPEX_ISA
