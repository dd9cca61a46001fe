// H heads of D floats a row; v is one such row.
#pragma once

#include <cstddef>

#include "core/dispatch.h"

namespace spex {

struct HeadRows {
  size_t rows = 0;
  size_t heads = 1;
  size_t width = 1;  // D
};

// y[r][h] = x[r][h] . v[h]
SPEX_KERNEL(void head_products(float* y, const float* x, const float* v, HeadRows shape))

// dx[r][h] = dy[r][h] v[h], or with `add` on top of it
SPEX_KERNEL(void head_products_dx(float* dx, const float* dy, const float* v, HeadRows shape,
                                  bool add))

// dv[h] = sum over r of dy[r][h] x[r][h]
SPEX_KERNEL(void head_products_dv(float* dv, const float* dy, const float* x, HeadRows shape))

}  // namespace spex
