// Reads the keys of a GGUF of any architecture with the rules of llama.cpp's loader. Numbers have at most 32 bits.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "gguf/keys.h"
#include "gguf/split_set.h"

namespace modelutils::memory {

/// The loader's maximum block count.
inline constexpr u64 max_blocks = 512;

/// Reads keys prefixed with "<architecture>.". Errors name the key: "fit-key" (missing, of another type, more than 32
/// bits), "fit-layers" (an array whose length is not the layer count).
class KeyReader {
 public:
  /// Both must outlive the reader.
  KeyReader(const gguf::Index& index, const gguf::SetFile& file) : index_(index), file_(file) {}

  std::string_view architecture() const { return index_.architecture(); }
  bool has(std::string_view key) const { return index_.key(index_.arch_key(key)) != nullptr; }
  bool has_array(std::string_view key) const { return index_.array_value(index_.arch_key(key)) != nullptr; }

  /// Returns nullopt if the key is absent.
  Result<std::optional<u64>> find(std::string_view key) const;
  Result<u64> number(std::string_view key, u64 missing) const;
  /// `because` is appended to "is missing" in the error.
  Result<u64> needed(std::string_view key, std::string_view because = {}) const;
  /// Returns a number or flag for each of `count` layers; a single value is repeated. Returns nullopt if the key is
  /// absent. An array may also have `or_count` elements; missing ones are 0.
  Result<std::optional<std::vector<u64>>> find_layers(std::string_view key, u64 count, u64 or_count) const;
  Result<std::vector<u64>> layers(std::string_view key, u64 count, u64 missing) const;

  tl::unexpected<Error> wrong(std::string_view key, std::string message) const;

 private:
  const gguf::Index& index_;
  const gguf::SetFile& file_;
};

}  // namespace modelutils::memory
