#include <spex/core/log.h>

#include <mutex>

namespace spex {
namespace {

std::mutex mutex;
LogSink current;

}  // namespace

void set_log_sink(LogSink sink) {
  std::lock_guard lock(mutex);
  current = std::move(sink);
}

void log_line(std::string_view line) {
  std::lock_guard lock(mutex);
  if (current) current(line);
}

}  // namespace spex
