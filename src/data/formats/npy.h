// Arrays as numpy stores them (.npy, and .npz: a zip of them).
#pragma once

#include <spex/core/memory.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace spex {

// An array whose bytes are checked against its shape; values are converted on the way out, and come
// in row-major order whichever order they were stored in. One or two dimensions.
class NpyArray {
 public:
  // `where` names file and array in messages. The bytes must outlive the array.
  static NpyArray parse(std::span<const std::byte> bytes, std::string where);

  const std::vector<size_t>& shape() const { return shape_; }
  size_t size() const { return size_; }
  size_t rows() const { return shape_.empty() ? 1 : shape_[0]; }
  size_t cols() const { return shape_.size() < 2 ? 1 : shape_[1]; }
  const std::string& where() const { return where_; }
  bool is_text() const { return type_[0] == 'U' || type_[0] == 'S'; }

  Buffer<float> floats() const;           // of any number type
  std::vector<double> doubles() const;    // likewise
  std::vector<int64_t> integers() const;  // of any number type; refuses what is not whole
  std::vector<uint8_t> mask() const;      // of booleans or integers 0 and 1
  std::vector<std::string> strings() const;

 private:
  template <class T>
  T at(size_t index) const;
  template <class Visit>
  void visit_numbers(Visit&& visit) const;
  size_t stored_index(size_t row_major) const;
  std::string where_;
  std::string type_;  // kind and width, "f4"; the byte order is little or irrelevant
  size_t width_ = 0;
  bool fortran_ = false;
  std::vector<size_t> shape_;
  size_t size_ = 0;
  std::span<const std::byte> data_;
};

// The entries of a .npz archive. Entries are inflated when they are asked for, never beyond what
// their compressed bytes can hold.
class NpzArchive {
 public:
  static NpzArchive open(const std::filesystem::path& path);
  static NpzArchive parse(std::span<const std::byte> bytes, std::filesystem::path path);
  NpzArchive(NpzArchive&&) noexcept;
  ~NpzArchive();

  const std::filesystem::path& path() const { return path_; }
  bool contains(const std::string& name) const { return entries_.contains(name); }
  const std::vector<std::string>& names() const { return names_; }
  const NpyArray& array(const std::string& name);  // throws if there is none
  std::vector<std::string> unread() const;         // names that were never asked for

 private:
  struct Zip;
  NpzArchive();
  std::vector<std::byte> inflate(uint64_t index, const std::string& name);
  std::filesystem::path path_;
  size_t size_ = 0;  // of the whole archive
  std::shared_ptr<const void> owner_;
  std::unique_ptr<Zip> zip_;
  std::vector<std::string> names_;
  std::map<std::string, uint64_t> entries_;
  std::map<std::string, std::vector<std::byte>> inflated_;
  std::map<std::string, NpyArray> arrays_;
};

}  // namespace spex
