// Where the library says what it does. It never prints: it hands lines to a sink that the program
// set.
#pragma once

#include <fmt/core.h>

#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace spex {

using LogSink = std::function<void(std::string_view line)>;

void set_log_sink(LogSink sink);  // an empty sink drops everything, which is the default
void log_line(std::string_view line);

template <class... Args>
void log(fmt::format_string<Args...> format, Args&&... args) {
  log_line(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace spex
