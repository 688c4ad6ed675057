// Short names for the integer types used throughout the library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace modelutils {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i8 = std::int8_t;
using i16 = std::int16_t;
using i32 = std::int32_t;
using i64 = std::int64_t;

/// Bytes of a file. Sizes and offsets of files are u64, never size_t and never double.
using Bytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

}  // namespace modelutils
