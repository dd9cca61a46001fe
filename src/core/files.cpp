#include <fcntl.h>
#include <spex/core/error.h>
#include <spex/core/files.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <streambuf>
#include <vector>

namespace spex {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

// An output buffer over a descriptor that remembers the system's own reason for a failed write.
class DescriptorBuffer : public std::streambuf {
 public:
  explicit DescriptorBuffer(int fd) : fd_(fd), buffer_(size_t{1} << 20) {
    setp(buffer_.data(), buffer_.data() + buffer_.size());
  }
  int error() const { return error_; }

 protected:
  int_type overflow(int_type c) override {
    if (sync() != 0) return traits_type::eof();
    if (!traits_type::eq_int_type(c, traits_type::eof())) sputc(traits_type::to_char_type(c));
    return traits_type::not_eof(c);
  }
  int sync() override {
    bool written = write_all(pbase(), static_cast<size_t>(pptr() - pbase()));
    setp(buffer_.data(), buffer_.data() + buffer_.size());
    return written ? 0 : -1;
  }
  std::streamsize xsputn(const char* text, std::streamsize count) override {
    if (count < epptr() - pptr()) return std::streambuf::xsputn(text, count);
    if (sync() != 0 || !write_all(text, static_cast<size_t>(count))) return 0;
    return count;
  }

 private:
  bool write_all(const char* text, size_t count) {
    while (count > 0) {
      ssize_t written = ::write(fd_, text, count);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) {
        error_ = errno;
        return false;
      }
      text += written;
      count -= static_cast<size_t>(written);
    }
    return true;
  }
  int fd_;
  int error_ = 0;
  std::vector<char> buffer_;
};

// What a name stands for once links are followed, whether or not it exists.
std::filesystem::path follow_links(std::filesystem::path path) {
  constexpr int kMostLinks = 40;  // as many as the system follows
  std::error_code error;
  for (int i = 0; i < kMostLinks && std::filesystem::is_symlink(path, error); ++i)
    path = path.parent_path() / std::filesystem::read_symlink(path, error);
  return path;
}

[[noreturn]] void fail_writing(const std::filesystem::path& path, int reason) {
  fail("cannot write {}: {}", path.string(), std::strerror(reason));
}

// Calls `write` with a stream into the descriptor; returns the reason if that did not work, or 0.
int write_into(int fd, const std::function<void(std::ostream&)>& write) {
  DescriptorBuffer buffer(fd);
  std::ostream stream(&buffer);
  write(stream);
  stream.flush();
  if (stream) return 0;
  return buffer.error() ? buffer.error() : EIO;
}

// Into what is there: a pipe, or a device such as /dev/stdout.
void write_through(const std::filesystem::path& path,
                   const std::function<void(std::ostream&)>& write) {
  Descriptor fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (fd.get() < 0) fail_writing(path, errno);
  if (int reason = write_into(fd.get(), write)) fail_writing(path, reason);
}

// A file that is replaced stays whose it was, as far as the system lets us give files away.
void keep_owner_and_mode(int fd, const struct stat& before) {
  bool given = ::fchown(fd, before.st_uid, before.st_gid) == 0;
  ::fchmod(fd, before.st_mode & (given ? 07777 : 0777));
}

// A rename is durable only once its folder is synced.
void sync_folder(const std::filesystem::path& path) {
  auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  Descriptor fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() >= 0) ::fsync(fd.get());
}

// The mapped files of this process: where each begins, and its bytes.
struct Mappings {
  std::mutex mutex;
  std::map<const std::byte*, size_t> bytes;
};
Mappings& mappings() {
  static auto* all = new Mappings;  // leaked on purpose: files with static storage outlive it
  return *all;
}

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::open(const std::filesystem::path& path) {
  Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) fail("cannot open {}: {}", path.string(), std::strerror(errno));
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0)
    fail("cannot read {}: {}", path.string(), std::strerror(errno));
  require(S_ISREG(info.st_mode), "{} is not a file{}", path.string(),
          S_ISDIR(info.st_mode) ? " but a folder" : "");
  auto size = static_cast<size_t>(info.st_size);
  void* start = nullptr;
  if (size > 0) {
    start = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
    if (start == MAP_FAILED) fail("cannot map {}: {}", path.string(), std::strerror(errno));
    std::lock_guard lock(mappings().mutex);
    mappings().bytes.emplace(static_cast<const std::byte*>(start), size);
  }
  return std::shared_ptr<const MappedFile>(
      new MappedFile(path, {static_cast<const std::byte*>(start), size}));
}

MappedFile::~MappedFile() {
  if (bytes_.empty()) return;
  std::lock_guard lock(mappings().mutex);
  mappings().bytes.erase(bytes_.data());
  ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

// The pages stay in the system's cache; if it does not want them back, nothing is lost.
void give_back_pages(std::span<const std::byte> bytes) {
  constexpr uintptr_t kPage = uintptr_t{1} << 16;  // they are 4 to 64 KiB
  std::lock_guard lock(mappings().mutex);
  auto file = mappings().bytes.upper_bound(bytes.data());
  if (file == mappings().bytes.begin()) return;
  --file;
  if (bytes.data() + bytes.size() > file->first + file->second) return;
  auto begin = (std::bit_cast<uintptr_t>(bytes.data()) + kPage - 1) / kPage * kPage;
  auto end = std::bit_cast<uintptr_t>(bytes.data() + bytes.size()) / kPage * kPage;
  if (begin < end) ::madvise(std::bit_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

std::string read_text(const std::filesystem::path& path) {
  auto file = MappedFile::open(path);
  return {reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size()};
}

void write_atomically(const std::filesystem::path& name,
                      const std::function<void(std::ostream&)>& write) {
  struct stat before {};
  // Before links are followed: that of /dev/stdout leads to a name that is none.
  bool exists = ::stat(name.c_str(), &before) == 0;
  if (exists && (S_ISCHR(before.st_mode) || S_ISFIFO(before.st_mode))) {
    write_through(name, write);
    return;
  }
  std::filesystem::path path = follow_links(name), temporary = path;
  require(!exists || S_ISREG(before.st_mode), "cannot write {}: it is {}, not a file",
          path.string(), S_ISDIR(before.st_mode) ? "a folder" : "a device");
  if (exists && ::access(path.c_str(), W_OK) != 0) fail_writing(path, errno);
  temporary += ".partial";
  Descriptor fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (fd.get() < 0) fail_writing(path, errno);
  if (exists) keep_owner_and_mode(fd.get(), before);
  int reason = 0;
  try {
    reason = write_into(fd.get(), write);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  if (reason == 0 && ::fsync(fd.get()) != 0) reason = errno;
  if (reason == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) reason = errno;
  if (reason != 0) {
    ::unlink(temporary.c_str());
    fail_writing(path, reason);
  }
  sync_folder(path);
}

void append_text(const std::filesystem::path& path, std::string_view text) {
  Descriptor fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (fd.get() < 0) fail_writing(path, errno);
  int reason = write_into(fd.get(), [&](std::ostream& out) { out << text; });
  if (reason != 0) fail_writing(path, reason);
}

void write_text(const std::filesystem::path& path, std::string_view text) {
  write_atomically(path, [&](std::ostream& out) { out << text; });
}

}  // namespace spex
