// What stands behind the handles of spex/spex.h, and how errors leave the library.
#pragma once

#include <spex/core/error.h>
#include <spex/run/predict.h>
#include <spex/run/record.h>
#include <spex/spex.h>

#include <cstring>
#include <filesystem>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "c_api/parts.h"

struct spex_dataset {
  std::unique_ptr<spex::DatasetParts> parts;  // until it is built
  spex::Dataset data;
  std::string path;                      // what to open it by; empty: it came from arrays
  std::vector<std::string> class_names;  // numbers where the data has no names
  std::string text, key;
};

struct spex_result {
  spex::Matrix values;
};

struct spex_run {
  // Removes a temporary directory in the end.
  struct Directory {
    Directory(std::filesystem::path folder, bool is_temporary)
        : path(std::move(folder)), temporary(is_temporary), text(path.string()) {}
    Directory(const Directory&) = delete;
    Directory& operator=(const Directory&) = delete;
    ~Directory();
    std::filesystem::path path;
    bool temporary;
    std::string text;
  };
  std::unique_ptr<Directory> directory;
  std::optional<spex::Dataset> data;  // if it came from memory; else the directory says where it is
  spex::Config config;
  spex::Meaning meaning;
  size_t features = 0;
  bool finished = false;
  bool can_predict = false;
  std::vector<spex::EpochRecord> records;
  std::vector<spex_epoch> history;  // views of `records`
  std::string summary, toml;
  std::optional<spex::Predictor> predictor;  // made when it is first asked
};

namespace spex::c_api {

void set_last_error(const char* sentence) noexcept;
std::recursive_mutex& computing();  // held by the call that computes

// Runs what a call is to do; exceptions become a status and a sentence.
template <class Body>
spex_status guarded(Body&& body) noexcept {
  try {
    body();
    return SPEX_OK;
  } catch (const Error& error) {
    set_last_error(error.what());
    return SPEX_REFUSED;
  } catch (const std::bad_alloc&) {
    set_last_error("the system has no more memory to give");
    return SPEX_NO_MEMORY;
  } catch (const std::filesystem::filesystem_error& error) {
    set_last_error(error.what());
    return SPEX_REFUSED;
  } catch (const std::exception& error) {
    set_last_error(error.what());
    return SPEX_INTERNAL;
  }
}

// The same for what computes: one call at a time, since threads and the memory counts are shared.
template <class Body>
spex_status computed(Body&& body) noexcept {
  return guarded([&] {
    std::lock_guard lock(computing());
    body();
  });
}

template <class T>
T& given(T* pointer, const char* what) {
  require(pointer != nullptr, "{} is NULL", what);
  return *pointer;
}

// The fields that a caller's struct has; those it was compiled without keep their defaults.
template <class Options>
Options options_of(const Options* given) {
  Options options{};
  if (!given) return options;
  require(given->size > 0 && given->size <= sizeof(Options),
          "the options' size is {}; set it to sizeof, at most {} here", given->size,
          sizeof(Options));
  std::memcpy(&options, given, given->size);
  return options;
}

const Dataset& built(const spex_dataset* dataset);
std::unique_ptr<spex_dataset> wrap(Dataset data, std::string path);
spex_task task_of(Task task);
// A run that stands in a directory, as far as it went.
std::unique_ptr<spex_run> open_directory(std::unique_ptr<spex_run::Directory> directory,
                                         bool finished);
spex_epoch epoch_of(const EpochRecord& record, size_t epochs);

}  // namespace spex::c_api
