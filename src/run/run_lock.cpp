#include <fcntl.h>
#include <spex/core/error.h>
#include <spex/run/run_lock.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace spex {

RunLock::RunLock(const std::filesystem::path& file)
    : descriptor_(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
  if (descriptor_ < 0)
    fail("cannot write to {}: {}", file.parent_path().string(), std::strerror(errno));
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return;
  ::close(descriptor_);
  fail("another spex is working on {}; wait for it to end, or give another --out",
       file.parent_path().string());
}

RunLock::~RunLock() {
  ::close(descriptor_);
}

}  // namespace spex
