// A value of a class with virtual functions: copying it clones what it holds.
#pragma once

#include <memory>
#include <utility>

namespace spex {

template <class Base>
class Cloned {
 public:
  Cloned() = default;
  Cloned(std::unique_ptr<Base> value) : value_(std::move(value)) {}  // NOLINT
  Cloned(const Cloned& other) : value_(other.value_ ? other.value_->clone() : nullptr) {}
  Cloned(Cloned&&) noexcept = default;
  Cloned& operator=(Cloned other) noexcept {
    value_ = std::move(other.value_);
    return *this;
  }
  ~Cloned() = default;

  Base& operator*() { return *value_; }
  const Base& operator*() const { return *value_; }
  Base* operator->() { return value_.get(); }
  const Base* operator->() const { return value_.get(); }

 private:
  std::unique_ptr<Base> value_;
};

}  // namespace spex
