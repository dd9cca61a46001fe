// Signals and the library's threads. A handler that runs on a thread inside one of oneDNN's matrix
// products (Debian's 2.6) corrupts the heap: seen, and repeated by Gemm.SurvivesSignals. So no
// thread of ours takes signals, and a product blocks them on the caller's.
#pragma once

#include <csignal>

namespace spex {

// Keeps asynchronous signals from this thread for good. SIGPIPE stays: it belongs to a write.
void block_signals();

// The same while it lives; free on a thread that blocks them anyway.
class SignalGuard {
 public:
  SignalGuard();
  ~SignalGuard();
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;

 private:
  sigset_t before_;
  bool active_;
};

}  // namespace spex
