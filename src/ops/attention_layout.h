// How the rows of an attention call lie, decided once from its shape. Every head is padded with
// zeros to what the kernels work in; a neighbour has two vectors, x and y (its key and its value,
// or its query and its gradient), which are read together.
#pragma once

#include <cstddef>

namespace spex {

enum class LayoutKind {
  packed,  // one head of up to eight: padded to eight, x and y copied side by side into one cache
           // line; for the kernels of heads of eight
  eights,  // two, four or eight heads of eight, where they are; for the same kernels
  wide,    // any other shape: heads of four or of a multiple of eight
  folded   // as wide, one head: keys are their own values, and a query has a vector for each type
};

struct AttentionLayout {
  LayoutKind kind = LayoutKind::wide;
  size_t heads = 1;
  size_t width = 0;    // D of a head, as given
  size_t padded = 0;   // and as the kernels want it
  size_t vectors = 1;  // of a query: one for each head or, folded, for each type

  size_t row() const { return heads * padded; }
  size_t query_row() const { return vectors * padded; }
  bool is_padded() const { return padded > width; }
};

// What a call looks like from outside.
struct AttentionShape {
  size_t width = 0;  // of all heads
  size_t heads = 1;
  size_t types = 1;
  size_t keys = 0;
  bool folded = false;
  bool weighs_edges = false;  // edges have numbers of their own: log-scores
};

AttentionLayout choose_layout(const AttentionShape& shape);

}  // namespace spex
