// What a long step shows: on a terminal one line that is redrawn, with time left; into a pipe plain
// lines.
#pragma once

#include <spex/train/trainer.h>

#include <chrono>
#include <string>

namespace spex::cli {

class Progress {
 public:
  Progress();
  ~Progress();
  void epoch(const EpochRecord& record, size_t epochs);
  void status(const std::string& text);  // how far it is, where there are no epochs to show
  void line(std::string_view text);      // a message between two updates
  void finish();                         // leaves the last state on the screen

 private:
  std::string describe(const EpochRecord& record, size_t epochs) const;
  void redraw(const std::string& text);

  bool terminal_;
  bool drawn_ = false;
  std::string phase_;
  size_t seed_ = 0;
  size_t first_epoch_ = 0;
  double best_ = -1e30;
  std::chrono::steady_clock::time_point started_, last_;
};

// Ctrl-C or SIGTERM asks for a stop after this epoch; a second one ends the program at once. A
// thread of its own waits for them: no other is ever interrupted (see core/signals.h).
void catch_interrupts();
bool interrupted();

}  // namespace spex::cli
