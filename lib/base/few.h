// A short constant table stored inside the object that uses it, so that its values can be written in place.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>

namespace modelutils {

/// Up to N constants, from a list or an array. More than N do not compile.
template <typename T, std::size_t N>
class Few {
 public:
  constexpr Few() = default;
  consteval Few(std::initializer_list<T> values) {
    for (const T& value : values) values_.at(count_++) = value;
  }
  template <std::size_t M>
  consteval Few(const T (&values)[M]) {
    static_assert(M <= N);
    for (const T& value : values) values_[count_++] = value;
  }

  constexpr const T* begin() const { return values_.data(); }
  constexpr const T* end() const { return values_.data() + count_; }

 private:
  std::array<T, N> values_ = {};
  std::size_t count_ = 0;
};

}  // namespace modelutils
