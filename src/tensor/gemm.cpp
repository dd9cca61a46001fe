#include <oneapi/dnnl/dnnl.h>
#include <spex/core/error.h>
#include <spex/core/signals.h>
#include <spex/tensor/gemm.h>

namespace spex {

void gemm(MatrixView out, ConstMatrixView a, Transpose transpose_a, ConstMatrixView b,
          Transpose transpose_b, float beta) {
  size_t m = transpose_a == Transpose::no ? a.rows : a.cols;
  size_t k = transpose_a == Transpose::no ? a.cols : a.rows;
  size_t k_of_b = transpose_b == Transpose::no ? b.rows : b.cols;
  size_t n = transpose_b == Transpose::no ? b.cols : b.rows;
  require(k == k_of_b && out.rows == m && out.cols == n,
          "matrix product: {} x {} times {} x {} does not give {} x {}", m, k, k_of_b, n, out.rows,
          out.cols);
  if (m == 0 || n == 0) return;
  if (k == 0) {
    if (beta == 0.0F) fill(out, 0.0F);
    return;
  }
  SignalGuard guard;
  auto status = dnnl_sgemm(
      transpose_a == Transpose::no ? 'N' : 'T', transpose_b == Transpose::no ? 'N' : 'T',
      static_cast<dnnl_dim_t>(m), static_cast<dnnl_dim_t>(n), static_cast<dnnl_dim_t>(k), 1.0F,
      a.data, static_cast<dnnl_dim_t>(a.stride), b.data, static_cast<dnnl_dim_t>(b.stride), beta,
      out.data, static_cast<dnnl_dim_t>(out.stride));
  require(status == dnnl_success, "matrix product: oneDNN failed with status {}",
          static_cast<int>(status));
}

}  // namespace spex
