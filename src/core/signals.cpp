#include <pthread.h>
#include <spex/core/signals.h>

#include <initializer_list>

namespace spex {
namespace {

thread_local bool blocked_here = false;

sigset_t asynchronous_signals() {
  sigset_t set;
  sigfillset(&set);
  for (int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGPIPE})
    sigdelset(&set, signal);
  return set;
}

}  // namespace

void block_signals() {
  sigset_t set = asynchronous_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  blocked_here = true;
}

SignalGuard::SignalGuard() : active_(!blocked_here) {
  if (!active_) return;
  sigset_t set = asynchronous_signals();
  pthread_sigmask(SIG_BLOCK, &set, &before_);
}

SignalGuard::~SignalGuard() {
  if (active_) pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace spex
