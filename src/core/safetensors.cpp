#include <fmt/format.h>
#include <spex/core/error.h>
#include <spex/core/files.h>
#include <spex/core/safetensors.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

namespace spex {
namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "arrays are mapped as they are stored");

constexpr size_t kLengthBytes = 8;
constexpr size_t kMaxHeader = 100'000'000;  // the limit of the format's own reader
constexpr size_t kDataAlignment = 64;
constexpr std::array<std::string_view, 13> kNames = {
    "F64", "I64", "U64", "F32", "I32", "U32", "F16", "BF16", "I16", "U16", "I8", "U8", "BOOL"};
constexpr std::array<size_t, 13> kBytes = {8, 8, 8, 4, 4, 4, 2, 2, 2, 2, 1, 1, 1};

struct Extent {
  size_t begin = 0, end = 0;
  std::string tensor;
};

// One entry of the header, which is somebody else's text until every field is checked.
class EntryReader {
 public:
  EntryReader(const std::string& path, const std::string& tensor, const json& entry)
      : path_(path), tensor_(tensor), entry_(entry) {
    if (!entry.is_object()) refuse("is not described by an object");
  }

  Dtype dtype() const {
    auto found = entry_.find("dtype");
    if (found == entry_.end() || !found->is_string()) refuse("has no dtype");
    const auto& text = found->get_ref<const std::string&>();
    auto known = std::find(kNames.begin(), kNames.end(), text);
    if (known == kNames.end()) refuse("has the unknown dtype '" + text + "'");
    return static_cast<Dtype>(known - kNames.begin());
  }

  std::vector<size_t> shape() const { return numbers("shape"); }

  Extent extent(size_t data_bytes) const {
    auto offsets = numbers("data_offsets");
    if (offsets.size() != 2 || offsets[0] > offsets[1])
      refuse("has data_offsets that are not a begin and an end");
    if (offsets[1] > data_bytes)
      refuse(fmt::format("ends at byte {} of the data, which has {}; is the file cut short?",
                         offsets[1], data_bytes));
    return {offsets[0], offsets[1], tensor_};
  }

  void check_size(const std::vector<size_t>& shape, Dtype dtype, size_t bytes) const {
    size_t expected = byte_size(dtype);
    for (size_t extent : shape)
      if (__builtin_mul_overflow(expected, extent, &expected)) refuse("has an absurd shape");
    if (expected != bytes)
      refuse(fmt::format("is {} of {}, {} bytes, but its data_offsets span {}", join_shape(shape),
                         name(dtype), expected, bytes));
  }

 private:
  std::vector<size_t> numbers(const char* key) const {
    auto found = entry_.find(key);
    if (found == entry_.end() || !found->is_array()) refuse(fmt::format("has no {}", key));
    std::vector<size_t> values;
    for (const json& value : *found) {
      if (!value.is_number_unsigned())
        refuse(fmt::format("has a {} that is not whole numbers", key));
      values.push_back(value.get<size_t>());
    }
    return values;
  }
  [[noreturn]] void refuse(const std::string& why) const {
    fail("{}: the array '{}' {}", path_, tensor_, why);
  }
  const std::string& path_;
  const std::string& tensor_;
  const json& entry_;
};

json parse_header(std::span<const std::byte> bytes, const std::string& path) {
  require(bytes.size() > kLengthBytes, "{} is not a safetensors file: it has only {} bytes", path,
          bytes.size());
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), kLengthBytes);
  require(length <= kMaxHeader && length <= bytes.size() - kLengthBytes,
          "{} is not a whole safetensors file: it declares a header of {} bytes and has {}", path,
          length, bytes.size());
  const char* text = reinterpret_cast<const char*>(bytes.data()) + kLengthBytes;
  try {
    json header = json::parse(text, text + length);
    require(header.is_object(), "{} is not a safetensors file: its header is not an object", path);
    return header;
  } catch (const json::exception&) {
    fail("{} is not a safetensors file: its header is not JSON", path);
  }
}

// The format allows no holes and no overlap; a file that keeps to it is neither cut nor spliced.
void check_tiling(std::vector<Extent> extents, size_t data_bytes, const std::string& path) {
  std::sort(extents.begin(), extents.end(), [](const Extent& a, const Extent& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  size_t end = 0;
  for (const Extent& extent : extents) {
    require(extent.begin == end, "{}: the array '{}' starts at byte {} of the data, expected {}",
            path, extent.tensor, extent.begin, end);
    end = extent.end;
  }
  require(end == data_bytes, "{}: its arrays end at byte {} of the data, which has {}", path, end,
          data_bytes);
}

std::string header_text(std::span<const TensorSource* const> order,
                        const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json header;
  if (!metadata.empty()) header["__metadata__"] = metadata;
  size_t end = 0;
  for (const TensorSource* source : order) {
    header[source->name] = {{"dtype", name(source->dtype)},
                            {"shape", source->shape},
                            {"data_offsets", {end, end + source->bytes.size()}}};
    end += source->bytes.size();
  }
  // Names come from file names and CSV cells: bytes that are not UTF-8 must not stop a save.
  std::string text =
      header.is_null() ? "{}" : header.dump(-1, ' ', false, json::error_handler_t::replace);
  size_t whole =
      (kLengthBytes + text.size() + kDataAlignment - 1) / kDataAlignment * kDataAlignment;
  text.resize(whole - kLengthBytes, ' ');
  return text;
}

void check_source(const TensorSource& source, std::set<std::string>& names) {
  size_t bytes = byte_size(source.dtype);
  for (size_t extent : source.shape) bytes *= extent;
  require(bytes == source.bytes.size(), "writing the array '{}': {} of {} is {} bytes, given {}",
          source.name, join_shape(source.shape), name(source.dtype), bytes, source.bytes.size());
  require(source.name != "__metadata__" && names.insert(source.name).second,
          "writing arrays: the name '{}' is taken", source.name);
}

}  // namespace

std::string_view name(Dtype dtype) {
  return kNames[static_cast<size_t>(dtype)];
}
size_t byte_size(Dtype dtype) {
  return kBytes[static_cast<size_t>(dtype)];
}
std::string join_shape(std::span<const size_t> shape) {
  return shape.empty() ? "one value" : fmt::format("{}", fmt::join(shape, " x "));
}

Safetensors Safetensors::open(const std::filesystem::path& path) {
  auto file = MappedFile::open(path);
  auto bytes = file->bytes();
  return parse(bytes, std::move(file), path);
}

Safetensors Safetensors::parse(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                               std::filesystem::path path) {
  Safetensors result;
  std::string where = path.string();
  json header = parse_header(bytes, where);
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), kLengthBytes);
  auto data = bytes.subspan(kLengthBytes + length);
  std::vector<Extent> extents;
  for (const auto& [key, entry] : header.items()) {
    if (key == "__metadata__") {
      require(entry.is_object(), "{}: its metadata is not an object", where);
      for (const auto& [field, value] : entry.items()) {
        require(value.is_string(), "{}: the metadata '{}' is not a string", where, field);
        result.metadata_[field] = value.get<std::string>();
      }
      continue;
    }
    EntryReader reader(where, key, entry);
    TensorInfo info{reader.dtype(), reader.shape(), {}};
    Extent extent = reader.extent(data.size());
    reader.check_size(info.shape, info.dtype, extent.end - extent.begin);
    info.bytes = data.subspan(extent.begin, extent.end - extent.begin);
    extents.push_back(std::move(extent));
    result.tensors_.emplace(key, std::move(info));
  }
  check_tiling(std::move(extents), data.size(), where);
  result.owner_ = std::move(owner);
  result.path_ = std::move(path);
  return result;
}

const TensorInfo& Safetensors::info(const std::string& tensor) const {
  auto found = tensors_.find(tensor);
  require(found != tensors_.end(), "{} has no array '{}'", path_.string(), tensor);
  return found->second;
}

void Safetensors::check_shape(const std::string& tensor, std::span<const size_t> shape) const {
  const auto& has = info(tensor).shape;
  require(std::equal(has.begin(), has.end(), shape.begin(), shape.end()),
          "{}: the array '{}' is {}, expected {}", path_.string(), tensor, join_shape(has),
          join_shape(shape));
}

void Safetensors::refuse_type(const std::string& tensor, const TensorInfo& info,
                              size_t wanted_bytes) const {
  fail("{}: the array '{}' holds {}, expected another type, of {} bytes per value", path_.string(),
       tensor, name(info.dtype), wanted_bytes);
}

void write_safetensors(const std::filesystem::path& path, std::span<const TensorSource> tensors,
                       const std::map<std::string, std::string>& metadata) {
  std::set<std::string> names;
  std::vector<const TensorSource*> order;
  for (const TensorSource& source : tensors) {
    check_source(source, names);
    order.push_back(&source);
  }
  std::stable_sort(order.begin(), order.end(), [](const TensorSource* a, const TensorSource* b) {
    return byte_size(a->dtype) > byte_size(b->dtype);
  });
  std::string header = header_text(order, metadata);
  write_atomically(path, [&](std::ostream& out) {
    uint64_t length = header.size();
    out.write(reinterpret_cast<const char*>(&length), kLengthBytes);
    out << header;
    for (const TensorSource* source : order)
      out.write(reinterpret_cast<const char*>(source->bytes.data()),
                static_cast<std::streamsize>(source->bytes.size()));
  });
}

}  // namespace spex
