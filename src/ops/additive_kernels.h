// What the kernels of additive attention are given. H heads of D floats; letters as in
// include/spex/ops/additive_attention.h. With m_i the largest e_ij of the row and
// S_i = sum_j exp(e_ij - m_i):
//   a_ij = exp(e_ij - m_i) / S_i,   u_ij = do_i . s_j,   delta_i = sum_j a_ij u_ij
//   dz_ij = a_ij slope_ij (u_ij - delta_i), with slope_ij the derivative of e_ij by z_ij
//   dquery_i = sum_j dz_ij     dsource_j = sum_i dz_ij     ds_j = sum_i a_ij do_i
#pragma once

#include "core/dispatch.h"
#include "ops/neighbour_rows.h"

namespace spex {

struct AdditiveView {
  NeighbourRows rows;
  const float* table = nullptr;  // of H*D floats by id: s, or do on the source side
  size_t heads = 1;
  size_t width = 1;  // D
  float slope = 0.0F;
  bool prefetch = true;
};

struct AdditiveForward {
  AdditiveView view;
  const float* source_scores = nullptr;  // H by id
  const float* query_scores = nullptr;   // H per row
  float* out = nullptr;                  // H*D per row
  float* largest = nullptr;              // H per row: m
  float* inverse_sum = nullptr;          // H per row: 1 / S, or 0 for an empty row
};

// What the source side reads of a query: query score, m, 1 / S, delta; H numbers of each.
inline constexpr size_t kQueryNumbers = 4;

struct AdditiveQueryBackward {
  AdditiveView view;
  const float* source_scores = nullptr;
  const float* query_scores = nullptr;
  const float* largest = nullptr;
  const float* inverse_sum = nullptr;
  const float* dout = nullptr;     // H*D per row
  float* dquery_scores = nullptr;  // H per row
  float* query_numbers = nullptr;  // kQueryNumbers * H per row
};

struct AdditiveSourceBackward {
  AdditiveView view;                     // rows are those of the transposed pattern
  const float* query_numbers = nullptr;  // kQueryNumbers * H by id
  const float* source_scores = nullptr;  // H per row
  const float* values = nullptr;         // s, H*D per row
  float* dvalues = nullptr;              // H*D per row
  bool add = false;                      // to what dvalues holds
  float* dsource_scores = nullptr;       // H per row
};

// The heads [first, last) of the rows [begin, end). Disjoint ranges write disjoint places.
SPEX_KERNEL(void additive_forward(const AdditiveForward& c, size_t first, size_t last, size_t begin,
                                  size_t end))
SPEX_KERNEL(void additive_query_backward(const AdditiveQueryBackward& c, size_t first, size_t last,
                                         size_t begin, size_t end))
SPEX_KERNEL(void additive_source_backward(const AdditiveSourceBackward& c, size_t first,
                                          size_t last, size_t begin, size_t end))

}  // namespace spex
