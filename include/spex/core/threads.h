// Parallel loops whose result does not depend on the number of threads: work is cut into fixed
// blocks, and whatever is summed over blocks is summed in block order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <vector>

namespace spex {

// CPUs this process may use: those of the machine less what its affinity mask and the quota of its
// container keep from it. At least 1.
int usable_cpus();

// Threads for all parallel work of the library, the matrix products included. 0: all CPUs. Not to
// be called while a parallel loop runs.
void set_threads(int count);

// The same for what a user asked for: no more than there are CPUs to run them, since threads that
// take turns wait for each other (a line in the log says so). Gives the number in use.
size_t use_threads(size_t wanted);
int threads();

// While it lives, parallel loops started by this thread run on this thread alone.
class SerialScope {
 public:
  SerialScope();
  ~SerialScope();
  SerialScope(const SerialScope&) = delete;
  SerialScope& operator=(const SerialScope&) = delete;

 private:
  bool outer_;
};

namespace detail {
void parallel_blocks(size_t blocks, void (*call)(void* context, size_t block), void* context);
}

// Calls body(block) for each block in [0, blocks), each by one thread. An exception thrown by the
// body reaches the caller (the one of the lowest block that threw).
template <class Body>
void parallel_blocks(size_t blocks, Body&& body) {
  using Plain = std::remove_reference_t<Body>;
  detail::parallel_blocks(
      blocks, [](void* context, size_t block) { (*static_cast<Plain*>(context))(block); },
      const_cast<void*>(static_cast<const void*>(std::addressof(body))));
}

// Calls body(begin, end) on consecutive ranges of `block` items that cover [0, count).
template <class Body>
void parallel_for(size_t count, size_t block, Body&& body) {
  parallel_blocks((count + block - 1) / block,
                  [&](size_t b) { body(b * block, std::min(count, (b + 1) * block)); });
}

// The sum of body(begin, end) over fixed ranges, in range order: the same bytes for any thread
// count.
template <class Sum, class Body>
Sum parallel_sum(size_t count, size_t block, Sum zero, Body&& body) {
  std::vector<Sum> parts((count + block - 1) / block, zero);
  parallel_for(count, block,
               [&](size_t begin, size_t end) { parts[begin / block] = body(begin, end); });
  Sum total = zero;
  for (const Sum& part : parts) total += part;
  return total;
}

}  // namespace spex
