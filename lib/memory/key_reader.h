// Keys of a GGUF as llama.cpp's loader reads them, of any architecture. No number is larger than 32 bits.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "gguf/keys.h"
#include "gguf/split_set.h"

namespace modelutils::memory {

/// The loader's limit of blocks.
inline constexpr u64 max_blocks = 512;

/// Keys behind "<architecture>.". Errors name the key: "fit-key" (missing, of another type, beyond 32 bits),
/// "fit-layers" (an array of another length than the model has layers).
class KeyReader {
 public:
  /// Both must outlive the reader.
  KeyReader(const gguf::Index& index, const gguf::SetFile& file) : index_(index), file_(file) {}

  std::string_view architecture() const { return index_.architecture(); }
  bool has(std::string_view key) const { return index_.key(index_.arch_key(key)) != nullptr; }
  bool has_array(std::string_view key) const { return index_.array_value(index_.arch_key(key)) != nullptr; }

  /// Nothing if there is no such key.
  Result<std::optional<u64>> find(std::string_view key) const;
  Result<u64> number(std::string_view key, u64 missing) const;
  /// `because`: what is said of a file without the key, after "is missing".
  Result<u64> needed(std::string_view key, std::string_view because = {}) const;
  /// A number or a flag for each of `count` layers; one for all is repeated. Nothing if there is no such key. An array
  /// may have `or_count` elements, too; what it lacks is 0.
  Result<std::optional<std::vector<u64>>> find_layers(std::string_view key, u64 count, u64 or_count) const;
  Result<std::vector<u64>> layers(std::string_view key, u64 count, u64 missing) const;

  tl::unexpected<Error> wrong(std::string_view key, std::string message) const;

 private:
  const gguf::Index& index_;
  const gguf::SetFile& file_;
};

}  // namespace modelutils::memory
