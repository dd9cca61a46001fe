// The real program, as a user starts it: arguments in; exit code, stdout and stderr out.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spex/core/files.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "folder.h"

namespace spex::testing_support {

struct Outcome {
  int code = -1;   // of exit; -1: ended by a signal
  int signal = 0;  // that ended it
  std::string out, err;
};

struct Surroundings {
  std::string out;          // where stdout goes; empty: to the outcome
  size_t largest_file = 0;  // bytes a file may have; 0: no limit
  bool as_nobody = false;   // as a user who owns nothing, if we are root
};

class Program {
 public:
  explicit Program(const std::vector<std::string>& arguments, const Surroundings& around = {}) {
    std::vector<char*> argv = {const_cast<char*>("spex")};
    for (const std::string& each : arguments) argv.push_back(const_cast<char*>(each.c_str()));
    argv.push_back(nullptr);
    std::string out = around.out.empty() ? (folder_ / "out").string() : around.out;
    std::string err = (folder_ / "err").string();
    child_ = ::fork();
    if (child_ != 0) return;
    redirect(STDOUT_FILENO, out);
    redirect(STDERR_FILENO, err);
    if (around.largest_file > 0) {
      ::signal(SIGXFSZ, SIG_IGN);
      rlimit limit = {around.largest_file, around.largest_file};
      ::setrlimit(RLIMIT_FSIZE, &limit);
    }
    if (around.as_nobody && ::geteuid() == 0 && ::setuid(kNobody) != 0) ::_exit(125);
    const char* other = std::getenv("SPEX_PROGRAM");  // scripts/mutants has one of its own
    ::execv(other ? other : SPEX_BINARY_DIR "/spex", argv.data());
    ::_exit(127);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() {
    if (child_ > 0) {
      signal(SIGKILL);
      wait();
    }
  }

  void signal(int number) const { ::kill(child_, number); }

  Outcome wait() {
    int status = 0;
    ::waitpid(child_, &status, 0);
    child_ = 0;
    Outcome outcome;
    if (WIFEXITED(status)) outcome.code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
    if (std::filesystem::exists(folder_ / "out")) outcome.out = read_text(folder_ / "out");
    outcome.err = read_text(folder_ / "err");
    return outcome;
  }

  // Waits until stderr says `text`; false if the program ends or a minute passes before.
  bool says(const std::string& text) const {
    return until([&] { return read_text(folder_ / "err").find(text) != std::string::npos; });
  }

  template <class Condition>
  bool until(Condition&& condition) const {
    using namespace std::chrono_literals;  // NOLINT
    for (int i = 0; i < 12000; ++i) {
      if (std::filesystem::exists(folder_ / "err") && condition()) return true;
      siginfo_t info{};
      if (::waitid(P_PID, static_cast<id_t>(child_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
          info.si_pid != 0)
        return false;
      std::this_thread::sleep_for(5ms);
    }
    return false;
  }

 private:
  static constexpr uid_t kNobody = 65534;

  static void redirect(int descriptor, const std::string& file) {
    int opened = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (opened < 0 || ::dup2(opened, descriptor) < 0) ::_exit(126);
    ::close(opened);
  }

  TemporaryFolder folder_;
  pid_t child_ = 0;
};

inline Outcome spex(const std::vector<std::string>& arguments, const Surroundings& around = {}) {
  return Program(arguments, around).wait();
}

// One sentence on stderr, nothing on stdout.
inline void expect_fails(const Outcome& outcome, int code, const std::string& part) {
  EXPECT_EQ(outcome.code, code) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  size_t last = outcome.err.rfind("spex: ");
  ASSERT_NE(last, std::string::npos) << outcome.err;
  std::string sentence = outcome.err.substr(last);
  EXPECT_EQ(std::count(sentence.begin(), sentence.end(), '\n'), 1) << sentence;
  EXPECT_NE(sentence.find(part), std::string::npos)
      << "expected: " << part << "\nsaid: " << sentence;
}

// A quick training on a stored field of mines, as arguments.
inline std::vector<std::string> training(const std::filesystem::path& data,
                                         const std::filesystem::path& out,
                                         const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {"train", data, "--out", out, "--threads", "2"};
  for (const char* setting : {"expander.degree=6", "estimator.width=4", "estimator.epochs=30",
                              "estimator.tries=2", "spexphormer.epochs=30", "spexphormer.width=16",
                              "spexphormer.heads=2", "spexphormer.degrees=[6,4]", "seeds=2"}) {
    arguments.push_back("--set");
    arguments.push_back(setting);
  }
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

inline std::vector<std::string> operator+(std::vector<std::string> arguments,
                                          const std::string& more) {
  arguments.push_back(more);
  return arguments;
}

}  // namespace spex::testing_support
