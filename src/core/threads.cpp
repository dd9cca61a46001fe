// A pool of our own rather than OpenMP's: libgomp's threads spin at every barrier, so one other
// busy program on the machine makes each parallel loop wait for a time slice (measured: training
// became six times slower beside a compiler). Ours spin for some tens of microseconds, then sleep,
// and a loop waits only for the threads that took part in it: one whose CPU another program holds
// does not hold up the rest.
#include <omp.h>
#include <spex/core/error.h>
#include <spex/core/log.h>
#include <spex/core/signals.h>
#include <spex/core/threads.h>

#include <atomic>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>

#include "core/cpu_limits.h"

namespace spex {
namespace {

thread_local bool serial_here = false;  // a worker, or inside a SerialScope

inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Waits until `value` is no longer `old`: spinning first, since loops follow each other closely.
template <class T>
T wait_for_change(const std::atomic<T>& value, T old) {
  for (int spin = 0; spin < 2000; ++spin) {
    T now = value.load(std::memory_order_acquire);
    if (now != old) return now;
    pause();
  }
  value.wait(old, std::memory_order_acquire);
  return value.load(std::memory_order_acquire);
}

// One parallel loop. Blocks are handed out one by one; the result never depends on who runs which.
struct Loop {
  void (*call)(void*, size_t);
  void* context;
  size_t blocks;
  std::atomic<size_t> next{0};
  std::mutex error_mutex;
  std::exception_ptr error;
  size_t error_block = std::numeric_limits<size_t>::max();

  void work() {
    for (size_t block; (block = next.fetch_add(1, std::memory_order_relaxed)) < blocks;) try {
        call(context, block);
      } catch (...) {
        std::lock_guard lock(error_mutex);
        if (block < error_block) {
          error_block = block;
          error = std::current_exception();
        }
      }
  }
};

class Pool {
 public:
  ~Pool() { resize(1); }

  void resize(int threads) {
    std::lock_guard lock(busy_);
    stop_ = true;
    announce();
    for (std::thread& worker : workers_) worker.join();
    workers_.clear();
    stop_ = false;
    for (int i = 1; i < threads; ++i)
      workers_.emplace_back([this, round = round_.load()] { serve(round); });
  }

  // False if another thread is running a loop: the caller then does its work alone.
  bool run(Loop& loop) {
    std::unique_lock lock(busy_, std::try_to_lock);
    if (!lock) return false;
    loop_ = &loop;
    gate_.store(0, std::memory_order_release);
    announce();
    bool outer = std::exchange(serial_here, true);
    loop.work();
    serial_here = outer;
    int inside = gate_.fetch_add(kClosed, std::memory_order_acq_rel) + kClosed;
    while (inside != kClosed) inside = wait_for_change(gate_, inside);
    return true;
  }

 private:
  void announce() {
    round_.fetch_add(1, std::memory_order_release);
    round_.notify_all();
  }

  void serve(uint32_t seen) {
    serial_here = true;
    block_signals();
    omp_set_num_threads(1);  // what oneDNN does inside a block stays on this thread
    for (;;) {
      seen = wait_for_change(round_, seen);
      if (stop_) return;
      if (!enter()) continue;
      loop_->work();
      if (gate_.fetch_sub(1, std::memory_order_release) == kClosed + 1) gate_.notify_all();
    }
  }

  // False if the loop is over: nobody waits for who comes late.
  bool enter() {
    int inside = gate_.load(std::memory_order_relaxed);
    while (inside >= 0)
      if (gate_.compare_exchange_weak(inside, inside + 1, std::memory_order_acquire)) return true;
    return false;
  }

  static constexpr int kClosed = std::numeric_limits<int>::min() / 2;

  std::mutex busy_;
  std::vector<std::thread> workers_;
  std::atomic<uint32_t> round_{0};
  std::atomic<int> gate_{kClosed};  // workers inside the loop; kClosed more when it is over
  Loop* loop_ = nullptr;            // written before the gate opens, read inside
  std::atomic<bool> stop_{false};
};

struct Threads {
  Pool pool;
  std::atomic<int> count{0};

  Threads() { set(0); }
  void set(int wanted) {
    count = wanted > 0 ? wanted : usable_cpus();
    pool.resize(count);
  }
};

Threads& instance() {
  static Threads threads;
  return threads;
}

}  // namespace

int usable_cpus() {
  static const int count = count_usable_cpus();
  return count;
}

void set_threads(int count) {
  instance().set(count);
}

size_t use_threads(size_t wanted) {
  auto cpus = static_cast<size_t>(usable_cpus());
  if (wanted > cpus)
    log("{} threads in place of {}: this process may use {} CPUs", cpus, wanted, cpus);
  set_threads(static_cast<int>(std::min(wanted, cpus)));
  return static_cast<size_t>(threads());
}

int threads() {
  return serial_here ? 1 : instance().count.load();
}

SerialScope::SerialScope() : outer_(std::exchange(serial_here, true)) {}
SerialScope::~SerialScope() {
  serial_here = outer_;
}

namespace detail {

void parallel_blocks(size_t blocks, void (*call)(void*, size_t), void* context) {
  omp_set_num_threads(1);
  if (blocks > 1 && threads() > 1) {
    Loop loop{call, context, blocks, {}, {}, {}};
    if (instance().pool.run(loop)) {
      if (loop.error) std::rethrow_exception(loop.error);
      return;
    }
  }
  for (size_t block = 0; block < blocks; ++block) call(context, block);
}

}  // namespace detail
}  // namespace spex
