#include "data/formats/mat_check.h"

#include <spex/core/error.h>
#include <zlib.h>

#include <cstring>
#include <string_view>
#include <vector>

namespace spex {
namespace {

// Numbers of the format (MATLAB's "MAT-File Format", version 5).
constexpr size_t kHeader = 128;
constexpr uint32_t kInt8 = 1, kInt32 = 5, kUint32 = 6, kMatrix = 14, kCompressed = 15;
constexpr uint32_t kSparseClass = 5, kFirstNumericClass = 6, kLastNumericClass = 15;
constexpr uint32_t kComplexFlag = 0x0800;
constexpr uint64_t kDeflateLimit = 1032;

size_t value_bytes(uint32_t type) {
  constexpr size_t kSizes[] = {0, 1, 1, 2, 2, 4, 4, 4, 0, 8, 0, 0, 8, 8};
  return type < std::size(kSizes) ? kSizes[type] : 0;
}

struct Element {
  uint32_t type = 0;
  std::span<const std::byte> data;
};

// Elements one after the other; each is a tag and data, padded to eight bytes.
class Walker {
 public:
  Walker(std::span<const std::byte> bytes, const std::string& where)
      : rest_(bytes), where_(where) {}
  bool done() const { return rest_.empty(); }

  Element next(bool padded = true) {
    need(8);
    uint32_t tag = word(0);
    if (tag >> 16 != 0) {  // up to four bytes of data stand in the tag itself
      Element element{tag & 0xffff, rest_.subspan(4, 4)};
      require(tag >> 16 <= 4, "{}: a small element of {} bytes", where_, tag >> 16);
      element.data = element.data.first(tag >> 16);
      rest_ = rest_.subspan(8);
      return element;
    }
    size_t size = word(4);
    rest_ = rest_.subspan(8);
    need(size);
    Element element{tag, rest_.first(size)};
    size_t step = padded ? (size + 7) / 8 * 8 : size;
    need(step);
    rest_ = rest_.subspan(step);
    return element;
  }
  Element next(uint32_t type, const char* what) {
    Element element = next();
    require(element.type == type, "{}: expected {}, found an element of type {}", where_, what,
            element.type);
    return element;
  }
  Element next_indices() {  // MATLAB writes them signed, matio unsigned
    Element element = next();
    require(element.type == kInt32 || element.type == kUint32,
            "{}: expected indices, found an element of type {}", where_, element.type);
    return element;
  }

 private:
  uint32_t word(size_t at) const {
    uint32_t value = 0;
    std::memcpy(&value, rest_.data() + at, 4);
    return value;
  }
  void need(size_t size) const {
    require(size <= rest_.size(), "{}: is cut short, {} bytes are missing", where_,
            size - rest_.size());
  }
  std::span<const std::byte> rest_;
  const std::string& where_;
};

std::vector<uint32_t> words(std::span<const std::byte> data) {
  std::vector<uint32_t> values(data.size() / 4);
  if (!values.empty()) std::memcpy(values.data(), data.data(), values.size() * 4);
  return values;
}

void check_dense(Walker& walker, const MatVariable& variable, const std::string& where) {
  Element values = walker.next();
  size_t width = value_bytes(values.type), count = 0;
  require(width > 0, "{}: holds values of the unknown type {}", where, values.type);
  require(!__builtin_mul_overflow(variable.rows, variable.cols, &count) &&
              values.data.size() % width == 0 && values.data.size() / width == count,
          "{}: {} x {} values are declared, {} bytes are there", where, variable.rows,
          variable.cols, values.data.size());
}

void check_sparse(Walker& walker, const MatVariable& variable, size_t most,
                  const std::string& where) {
  auto rows = words(walker.next_indices().data);
  auto starts = words(walker.next_indices().data);
  Element values = walker.next();
  size_t width = value_bytes(values.type);
  require(width > 0, "{}: holds values of the unknown type {}", where, values.type);
  require(starts.size() == variable.cols + 1 && starts[0] == 0 && rows.size() <= most,
          "{}: its column starts do not fit its {} columns", where, variable.cols);
  for (size_t c = 0; c < variable.cols; ++c)
    require(starts[c] <= starts[c + 1], "{}: its column starts fall at column {}", where, c);
  require(starts.back() <= rows.size() && values.data.size() / width >= starts.back(),
          "{}: {} entries are declared, fewer are there", where, starts.back());
  for (size_t e = 0; e < starts.back(); ++e)
    require(rows[e] < variable.rows, "{}: entry {} is in row {}, but rows are 0 to {}", where, e,
            rows[e], static_cast<int64_t>(variable.rows) - 1);
}

void check_matrix(std::span<const std::byte> body, std::map<std::string, MatVariable>& variables,
                  const std::string& path) {
  Walker walker(body, path);
  auto flags = words(walker.next(kUint32, "array flags").data);
  require(flags.size() == 2, "{}: array flags of {} words, expected 2", path, flags.size());
  auto extents = words(walker.next(kInt32, "dimensions").data);
  Element label = walker.next(kInt8, "a name");
  std::string name(reinterpret_cast<const char*>(label.data.data()), label.data.size());
  std::string where = path + ": the array '" + name + "'";
  uint32_t kind = flags[0] & 0xff;
  require(kind == kSparseClass || (kind >= kFirstNumericClass && kind <= kLastNumericClass),
          "{}: is text, a cell or a structure; save the numeric arrays alone", where);
  require((flags[0] & kComplexFlag) == 0, "{}: is complex, expected real numbers", where);
  require(extents.size() == 2, "{}: has {} dimensions, expected 2", where, extents.size());
  require(extents[0] < INT32_MAX && extents[1] < INT32_MAX, "{}: has negative extents", where);
  require(!name.empty() && name.find('\0') == std::string::npos, "{}: a name is broken", path);
  MatVariable variable{kind == kSparseClass, extents[0], extents[1]};
  Walker values(body, where);
  for (int i = 0; i < 3; ++i) values.next();
  if (variable.sparse)
    check_sparse(values, variable, flags[1], where);
  else
    check_dense(values, variable, where);
  require(values.done(), "{}: bytes follow its values", where);
  require(variables.emplace(name, variable).second, "{}: is there twice", where);
}

// The one element inside a compressed one. Its size is declared inside, so eight bytes come first.
std::vector<std::byte> inflate_element(std::span<const std::byte> packed, const std::string& path) {
  std::vector<std::byte> bytes(8);
  z_stream stream{};
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  require(inflateInit(&stream) == Z_OK, "{}: no memory to inflate it", path);
  auto inflate_from = [&](size_t begin) {
    stream.next_out = reinterpret_cast<Bytef*>(bytes.data() + begin);
    stream.avail_out = static_cast<uInt>(bytes.size() - begin);
    int status = inflate(&stream, Z_SYNC_FLUSH);
    return (status == Z_OK || status == Z_STREAM_END) && stream.avail_out == 0;
  };
  bool whole = inflate_from(0);
  uint32_t size = 0;
  std::memcpy(&size, bytes.data() + 4, 4);
  bool possible = size / kDeflateLimit <= packed.size();
  if (whole && possible) {
    bytes.resize(8 + size_t{size});
    whole = size == 0 || inflate_from(8);
  }
  inflateEnd(&stream);
  require(possible, "{}: claims {} bytes out of {} compressed ones, which cannot be", path, size,
          packed.size());
  require(whole, "{}: a compressed array is damaged or cut short", path);
  return bytes;
}

}  // namespace

std::map<std::string, MatVariable> check_mat(std::span<const std::byte> bytes,
                                             const std::filesystem::path& path) {
  std::string where = path.string();
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  require(text.size() >= kHeader && text.starts_with("MATLAB 5.0"), "{} is not a MATLAB 5 file",
          where);
  require(text.substr(124, 4) == std::string_view("\x00\x01IM", 4),
          "{} is a MATLAB file of another version or byte order, expected 5, little-endian", where);
  std::map<std::string, MatVariable> variables;
  Walker walker(bytes.subspan(kHeader), where);
  while (!walker.done()) {
    Element element = walker.next(false);
    if (element.type == kCompressed) {
      auto inner = inflate_element(element.data, where);
      check_matrix(Walker(inner, where).next(kMatrix, "an array").data, variables, where);
    } else {
      require(element.type == kMatrix, "{}: expected an array, found an element of type {}", where,
              element.type);
      check_matrix(element.data, variables, where);
    }
  }
  require(!variables.empty(), "{} holds no arrays", where);
  return variables;
}

}  // namespace spex
