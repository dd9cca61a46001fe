// A trained model as a file that needs nothing else: the kind of model, every setting, its shape,
// how its features were prepared, what its outputs mean, and its state.
#pragma once

#include <spex/config/config.h>
#include <spex/run/preparation.h>
#include <spex/train/trainer.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace spex {

// What the numbers of a prediction mean.
struct Meaning {
  Task task = Task::classes;
  std::vector<std::string> class_names;  // one per class; numbers where the data has no names
};
Meaning meaning_of(const Dataset& data);

struct SavedModel {
  Phase phase;
  Shape shape;
  Meaning meaning;
  Preparation preparation;
  size_t seed = 0;
  size_t best_epoch = 0;
  double validation = 0;
  float temperature = 1;
  ModelState state;

  std::unique_ptr<Model> make() const;  // with this state
};

void save_model(const std::filesystem::path& path, const SavedModel& saved);
SavedModel load_model(const std::filesystem::path& path);

}  // namespace spex
