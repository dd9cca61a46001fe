#include "cli/progress.h"

#include <fmt/core.h>
#include <pthread.h>
#include <spex/core/signals.h>
#include <spex/core/stopwatch.h>
#include <spex/run/score_text.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <thread>

namespace spex::cli {
namespace {

std::atomic<int> interrupt_seen = 0;  // the signal

// The first one is noted, the second one ends the program in the usual way.
void wait_for_interrupts(sigset_t interrupts) {
  pthread_sigmask(SIG_SETMASK, &interrupts, nullptr);
  int signal = 0;
  sigwait(&interrupts, &signal);
  interrupt_seen = signal;
  sigwait(&interrupts, &signal);
  std::signal(signal, SIG_DFL);  // it may have been ignored by whoever started us
  pthread_sigmask(SIG_UNBLOCK, &interrupts, nullptr);
  std::raise(signal);
  _exit(128 + signal);  // the first process of a container survives its signals
}

double seconds_between(std::chrono::steady_clock::time_point a,
                       std::chrono::steady_clock::time_point b) {
  return std::chrono::duration<double>(b - a).count();
}

// A line of progress that cannot be shown must not end the run.
void say(const std::string& text) {
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace

Progress::Progress(bool quiet) : quiet_(quiet), terminal_(isatty(STDERR_FILENO) != 0) {}
Progress::~Progress() {
  finish();
}

std::string Progress::describe(const EpochRecord& record, size_t epochs) const {
  double per_epoch = seconds_between(started_, std::chrono::steady_clock::now()) /
                     static_cast<double>(record.epoch + 1 - first_epoch_);
  std::string which = fmt::format("seed {}", record.seed);
  if (members_ > 1 && record.phase == model_)
    which = fmt::format("seed {} network {}/{}", record.seed / members_, record.seed % members_ + 1,
                        members_);
  std::string text = fmt::format("{} {}  epoch {}/{}  loss {:.4f}", record.phase, which,
                                 record.epoch + 1, epochs, record.train_loss);
  if (!std::isnan(record.validation))
    text += fmt::format("  val {} (best {})", score_text(metric_, record.validation),
                        score_text(metric_, best_));
  return text +
         fmt::format("  {} left",
                     format_duration(per_epoch * static_cast<double>(epochs - record.epoch - 1)));
}

void Progress::epoch(const EpochRecord& record, size_t epochs) {
  if (quiet_) return;
  auto now = std::chrono::steady_clock::now();
  // Another split's training has the same phase and seed, and begins anew.
  bool fresh = record.phase != phase_ || record.seed != seed_ || record.epoch < next_epoch_;
  next_epoch_ = record.epoch + 1;
  if (fresh) {
    finish();
    phase_ = record.phase;
    seed_ = record.seed;
    first_epoch_ = record.epoch;
    best_ = -1e30;
    started_ = now - std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                         std::chrono::duration<double>(record.seconds));
  }
  if (!std::isnan(record.validation)) best_ = std::max(best_, record.validation);
  bool last = record.epoch + 1 == epochs;
  // A terminal is redrawn ten times a second; a pipe gets a line every ten seconds.
  if (!last && !fresh && seconds_between(last_, now) < (terminal_ ? 0.1 : 10.0)) return;
  last_ = now;
  std::string text = describe(record, epochs);
  if (!terminal_) {
    say(text + "\n");
    return;
  }
  constexpr size_t kBar = 24;
  size_t done = (record.epoch + 1) * kBar / epochs;
  redraw(fmt::format("[{:█>{}}{:░>{}}] {}", "", done, "", kBar - done, text));
  if (last) finish();
}

void Progress::status(const std::string& text) {
  if (quiet_) return;
  auto now = std::chrono::steady_clock::now();
  if (seconds_between(last_, now) < (terminal_ ? 0.1 : 10.0)) return;
  last_ = now;
  terminal_ ? redraw(text) : say(text + "\n");
}

void Progress::redraw(const std::string& text) {
  say("\r\033[K" + text);
  drawn_ = true;
}

void Progress::finish() {
  if (drawn_) say("\n");
  drawn_ = false;
}

void Progress::line(std::string_view text) {
  if (quiet_) return;
  finish();
  say(fmt::format("{}\n", text));
}

void catch_interrupts() {
  block_signals();
  sigset_t interrupts;
  sigemptyset(&interrupts);
  sigaddset(&interrupts, SIGINT);
  sigaddset(&interrupts, SIGTERM);
  std::thread(wait_for_interrupts, interrupts).detach();
}

bool interrupted() {
  return interrupt_seen != 0;
}

int failure_code() {
  return interrupted() ? 128 + interrupt_seen : 1;
}

}  // namespace spex::cli
