// The library itself: version, errors, log, what can be trained.
#include <spex/config/config.h>
#include <spex/core/log.h>

#include <nlohmann/json.hpp>

#include "c_api/handles.h"

namespace spex::c_api {
namespace {

std::string& last_error() {
  thread_local std::string sentence;
  return sentence;
}

std::string describe_models() {
  auto list = nlohmann::ordered_json::array();
  for (const ModelInfo& info : models()) {
    auto settings = nlohmann::ordered_json::array();
    for (const ConfigKey& key : config_keys(Config(info.name)))
      settings.push_back({{"key", key.key}, {"value", key.value}, {"meaning", key.meaning}});
    list.push_back({{"name", info.name}, {"help", info.help}, {"settings", settings}});
  }
  return list.dump();
}

}  // namespace

void set_last_error(const char* sentence) noexcept {
  try {
    last_error() = sentence;
  } catch (...) {
    last_error().clear();  // no memory even for the sentence
  }
}

std::recursive_mutex& computing() {
  static std::recursive_mutex mutex;
  return mutex;
}

}  // namespace spex::c_api

using namespace spex::c_api;  // NOLINT

const char* spex_last_error(void) {
  return last_error().c_str();
}

const char* spex_version(void) {
  return SPEX_VERSION;
}

void spex_set_log(spex_log_function function, void* user) {
  if (!function) {
    spex::set_log_sink({});
    return;
  }
  spex::set_log_sink(
      [function, user](std::string_view line) { function(std::string(line).c_str(), user); });
}

spex_status spex_models(const char** json) {
  return guarded([&] {
    static const std::string text = describe_models();
    given(json, "json") = text.c_str();
  });
}

spex_array spex_result_array(const spex_result* result) {
  spex_array array{};
  if (!result) return array;
  const spex::Matrix& m = result->values;
  return {m.data(),
          SPEX_FLOAT32,
          2,
          {m.rows(), m.cols()},
          {static_cast<ptrdiff_t>(m.cols() * sizeof(float)), sizeof(float)}};
}

void spex_result_free(spex_result* result) {
  delete result;
}

void spex_text_free(char* text) {
  delete[] text;
}
