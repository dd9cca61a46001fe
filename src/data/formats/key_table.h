// Keys in order of appearance: each new one gets the next number. Open addressing; a key costs its
// own bytes, eight for its place, and four to eight for the slots.
#pragma once

#include <spex/core/error.h>

#include <cstdint>
#include <string_view>
#include <vector>

namespace spex {

inline uint64_t mix_bits(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

// Whole numbers as keys.
class NumberKeys {
 public:
  using Key = uint64_t;
  static uint64_t hash(Key key) { return mix_bits(key + 0x9e3779b97f4a7c15U); }
  Key operator[](uint32_t index) const { return keys_[index]; }
  void push(Key key) { keys_.push_back(key); }
  size_t size() const { return keys_.size(); }
  const std::vector<uint64_t>& keys() const { return keys_; }

 private:
  std::vector<uint64_t> keys_;
};

// Text as keys, one after the other in a single string.
class TextKeys {
 public:
  using Key = std::string_view;
  static uint64_t hash(Key key) { return std::hash<std::string_view>()(key); }
  Key operator[](uint32_t index) const {
    return {text_.data() + offsets_[index], offsets_[index + 1] - offsets_[index]};
  }
  void push(Key key) {
    text_.insert(text_.end(), key.begin(), key.end());
    offsets_.push_back(text_.size());
  }
  size_t size() const { return offsets_.size() - 1; }
  const std::vector<char>& text() const { return text_; }
  const std::vector<uint64_t>& offsets() const { return offsets_; }

 private:
  std::vector<uint64_t> offsets_ = {0};
  std::vector<char> text_;
};

template <class Keys>
class KeyTable {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  uint32_t find(typename Keys::Key key) const {
    return slots_.empty() ? kNone : slots_[slot_of(key)];
  }
  uint32_t add(typename Keys::Key key) {
    if (2 * keys_.size() >= slots_.size()) grow();
    uint32_t& slot = slots_[slot_of(key)];
    if (slot != kNone) return slot;
    require(keys_.size() < kNone, "more than 2^32 - 1 different node ids");
    slot = static_cast<uint32_t>(keys_.size());
    keys_.push(key);
    return slot;
  }
  const Keys& keys() const { return keys_; }
  size_t size() const { return keys_.size(); }

 private:
  size_t slot_of(typename Keys::Key key) const {
    size_t mask = slots_.size() - 1, slot = Keys::hash(key) & mask;
    while (slots_[slot] != kNone && keys_[slots_[slot]] != key) slot = (slot + 1) & mask;
    return slot;
  }
  void grow() {
    slots_.assign(slots_.empty() ? 64 : 2 * slots_.size(), kNone);
    for (uint32_t i = 0; i < keys_.size(); ++i) slots_[slot_of(keys_[i])] = i;
  }
  Keys keys_;
  std::vector<uint32_t> slots_;
};

}  // namespace spex
