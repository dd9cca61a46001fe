// What a long step shows: on a terminal one line that is redrawn, with time left; into a pipe plain
// lines; told to be quiet, nothing.
#pragma once

#include <spex/config/config.h>
#include <spex/train/trainer.h>

#include <chrono>
#include <string>

namespace spex::cli {

class Progress {
 public:
  explicit Progress(bool quiet);
  ~Progress();
  void show(const Config& config) {  // of what the epochs will be
    metric_ = name(config.split.metric);
    model_ = config.model;
    members_ = config.members;
  }
  void epoch(const EpochRecord& record, size_t epochs);
  void status(const std::string& text);  // how far it is, where there are no epochs to show
  void line(std::string_view text);      // a message between two updates
  void finish();                         // leaves the last state on the screen

 private:
  std::string describe(const EpochRecord& record, size_t epochs) const;
  void redraw(const std::string& text);

  bool quiet_, terminal_;
  bool drawn_ = false;
  std::string metric_, model_, phase_;
  size_t members_ = 1;
  size_t seed_ = 0;
  size_t first_epoch_ = 0, next_epoch_ = 0;
  double best_ = -1e30;
  std::chrono::steady_clock::time_point started_, last_;
};

// Ctrl-C or SIGTERM asks for a stop after this epoch; a second one ends the program at once. A
// thread of its own waits for them: no other is ever interrupted (see core/signals.h).
void catch_interrupts();
bool interrupted();
// What the program exits with when it fails: 1, or 128 and the signal that asked it to stop.
int failure_code();

}  // namespace spex::cli
