#include <omp.h>
#include <spex/core/threads.h>

#include <exception>
#include <limits>

namespace spex {

void set_threads(int count) {
  omp_set_num_threads(count > 0 ? count : omp_get_num_procs());
}

int threads() {
  return omp_get_max_threads();
}

namespace detail {

void parallel_blocks(size_t blocks, void (*call)(void*, size_t), void* context) {
  std::exception_ptr error;
  size_t error_block = std::numeric_limits<size_t>::max();
  if (blocks == 1 || omp_in_parallel() || threads() == 1) {
    for (size_t block = 0; block < blocks; ++block) call(context, block);
    return;
  }
#pragma omp parallel for schedule(dynamic, 1)
  for (size_t block = 0; block < blocks; ++block) {
    try {
      call(context, block);
    } catch (...) {
#pragma omp critical(spex_parallel_error)
      if (block < error_block) {
        error_block = block;
        error = std::current_exception();
      }
    }
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace detail
}  // namespace spex
