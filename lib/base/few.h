// A short table that is part of the object it belongs to, so that constants can be written where they are used.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>

namespace modelutils {

/// Up to N constants, written out or copied from a table. More of them do not compile.
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
