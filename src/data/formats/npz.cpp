#include <spex/core/error.h>
#include <spex/core/files.h>
#include <zip.h>

#include "data/formats/npy.h"

namespace spex {
namespace {

// Deflate cannot do better than 1032 to 1; what claims more is a bomb or broken.
constexpr uint64_t kNpzDeflateLimit = 1032;

}  // namespace

struct NpzArchive::Zip {
  zip_t* archive = nullptr;
  ~Zip() {
    if (archive) zip_discard(archive);
  }
};

NpzArchive::NpzArchive() : zip_(std::make_unique<Zip>()) {}
NpzArchive::NpzArchive(NpzArchive&&) noexcept = default;
NpzArchive::~NpzArchive() = default;

NpzArchive NpzArchive::open(const std::filesystem::path& path) {
  auto file = MappedFile::open(path);
  NpzArchive result = parse(file->bytes(), path);
  result.owner_ = std::move(file);
  return result;
}

NpzArchive NpzArchive::parse(std::span<const std::byte> bytes, std::filesystem::path path) {
  NpzArchive result;
  result.path_ = std::move(path);
  result.size_ = bytes.size();
  std::string where = result.path_.string();
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* source = zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error);
  if (source) result.zip_->archive = zip_open_from_source(source, ZIP_RDONLY, &error);
  if (!result.zip_->archive) {
    std::string reason = zip_error_strerror(&error);
    zip_error_fini(&error);
    if (source) zip_source_free(source);
    fail("{} is not a whole zip archive ({})", where, reason);
  }
  zip_error_fini(&error);
  zip_int64_t count = zip_get_num_entries(result.zip_->archive, 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    const char* raw = zip_get_name(result.zip_->archive, static_cast<zip_uint64_t>(i), 0);
    std::string name = raw ? raw : "";
    if (!name.ends_with(".npy")) continue;
    name.resize(name.size() - 4);
    require(result.entries_.emplace(name, static_cast<uint64_t>(i)).second,
            "{}: the array '{}' is there twice", where, name);
    result.names_.push_back(name);
  }
  require(!result.names_.empty(),
          "{} is a zip archive without numpy arrays; of a spreadsheet, save the sheet as CSV",
          where);
  return result;
}

std::vector<std::byte> NpzArchive::inflate(uint64_t index, const std::string& name) {
  zip_stat_t info;
  zip_stat_init(&info);
  constexpr zip_uint64_t kNeeded = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
  bool known = zip_stat_index(zip_->archive, index, 0, &info) == 0 &&
               (info.valid & kNeeded) == kNeeded &&
               (info.comp_method == ZIP_CM_STORE || info.comp_method == ZIP_CM_DEFLATE);
  require(known, "{}: the array '{}' is encrypted or packed in a way we do not read",
          path_.string(), name);
  // Both sizes are claims of the archive's directory; only the file's own size is a fact.
  require(info.comp_size <= size_ && info.size / kNpzDeflateLimit <= info.comp_size,
          "{}: the array '{}' claims {} bytes out of {} compressed ones, which cannot be",
          path_.string(), name, info.size, info.comp_size);
  std::vector<std::byte> bytes(info.size);
  zip_file_t* file = zip_fopen_index(zip_->archive, index, 0);
  zip_int64_t read = file ? zip_fread(file, bytes.data(), info.size) : -1;
  // One more byte makes libzip compare the checksum, and shows an entry longer than it claims.
  std::byte beyond{};
  bool ended = read == static_cast<zip_int64_t>(info.size) && zip_fread(file, &beyond, 1) == 0;
  if (file) zip_fclose(file);
  require(ended, "{}: the array '{}' is damaged or cut short", path_.string(), name);
  return bytes;
}

const NpyArray& NpzArchive::array(const std::string& name) {
  if (auto found = arrays_.find(name); found != arrays_.end()) return found->second;
  auto entry = entries_.find(name);
  require(entry != entries_.end(), "{} has no array '{}'", path_.string(), name);
  auto& bytes = inflated_[name] = inflate(entry->second, name);
  NpyArray array = NpyArray::parse(bytes, path_.string() + ": the array '" + name + "'");
  return arrays_.emplace(name, std::move(array)).first->second;
}

std::vector<std::string> NpzArchive::unread() const {
  std::vector<std::string> names;
  for (const std::string& name : names_)
    if (!arrays_.contains(name)) names.push_back(name);
  return names;
}

}  // namespace spex
