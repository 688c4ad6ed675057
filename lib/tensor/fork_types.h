// Element types that only forks of ggml know, and types that ggml has removed: names and sizes, so that a file with
// them can be named and checked. Nothing decodes them. Sources: docs/formats/forks.md, which repeats this table.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/types.h"

namespace modelutils {

/// A type of a fork. A row takes row_bytes + ne0 / elements × bytes, a tensor tensor_bytes more.
struct ForkType {
  u32 id = 0;
  std::string_view name;  ///< "IQ4_KS"
  u32 elements = 0;       ///< of a block; 0 if the size is not established
  u32 bytes = 0;
  u32 row_bytes = 0;
  u32 tensor_bytes = 0;
  std::string_view advice = {};  ///< if it differs from the fork's

  /// Bits per weight of the blocks, without the bytes per row and per tensor.
  double bits_per_weight() const { return elements == 0 ? 0 : 8.0 * bytes / elements; }
};

struct Fork {
  std::string_view name;        ///< the program that reads the types: "ik_llama.cpp"
  std::string_view repository;  ///< "ikawrakow/ik_llama.cpp"
  std::string_view commits;     ///< at which the types were read there
  std::span<const ForkType> types;
  std::string_view advice;         ///< what the owner of such a file can do
  const Fork* extended = nullptr;  ///< the fork whose types it has, too

  /// Returns nullptr if the fork does not know the id, or knows it as ggml does.
  const ForkType* find(u32 id) const;
};

/// Returns all forks; the most common first.
std::span<const Fork> all_forks();

/// Returns the size of a tensor of shape `ne` (ne0 first); nullopt if the type's size is not established, ne0 is not a
/// multiple of the block's elements, or the size exceeds 63 bits.
std::optional<u64> fork_tensor_bytes(const ForkType& type, std::span<const u64> ne);

/// Returns "IQ4_KS (ik_llama.cpp)".
std::string fork_type_text(const ForkType& type, const Fork& fork);
/// Returns the advice for owners of a file with this type.
std::string_view advice_for(const ForkType& type, const Fork& fork);

}  // namespace modelutils
