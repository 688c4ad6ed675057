// Every key that llama.cpp, its converter or this project knows: its types, which loaders read it, and what they do
// without it. verify checks types and ranges by it, gguf-dump -v and docs/keys.md explain it, gguf-edit --set takes the
// type from it. scripts/check-drift compares it with llama.cpp's own table of names.
// Source: llama.cpp v0.5.0 (de3ff815), src/llama-arch.cpp, src/llama-model.cpp, src/models, gguf-py.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <string_view>

#include "formats/gguf/document.h"

namespace modelutils::arch {

struct KeyFacts {
  /// "general.name", or "*.block_count" for keys that begin with an architecture's name. '#' stands for a number or a
  /// name without dots.
  std::string_view name;
  std::string_view types;        ///< types that loaders accept, "u32|u32[]|i32[]"; converters write the first
  std::string_view length = {};  ///< length of an array: "layers", "tokens", "any", or a number
  /// Loaders that read the key, as values of general.architecture separated by '|'; "*" for all; empty for none.
  std::string_view readers = {};
  std::string_view needed_by = {};  ///< loaders that require the key
  std::string_view absent;          ///< the loader's behaviour without the key; "refused" if all refuse the file
  std::string_view means;
  double least = -std::numeric_limits<double>::infinity();  ///< range of numbers and of array elements
  double most = std::numeric_limits<double>::infinity();

  bool has_one_for_each_layer() const { return length == "layers"; }
};

/// Rows grouped by topic, in the order of docs/keys.md.
struct KeyGroup {
  std::string_view title;
  std::span<const KeyFacts> rows;
};
/// Returns all groups, in the order of docs/keys.md.
std::span<const KeyGroup> key_groups();

/// Returns the row of a key in a file of this architecture; nullptr for unknown keys.
const KeyFacts* find_key_facts(std::string_view key, std::string_view architecture);

/// A type in a row: a scalar, or an array of scalars.
struct KeyValueType {
  gguf::ValueType type = gguf::ValueType::string;
  std::optional<gguf::ValueType> elements = std::nullopt;  ///< element type of an array

  bool operator==(const KeyValueType&) const = default;
};
/// Parses "u32" or "string[]"; nullopt for other texts.
std::optional<KeyValueType> key_value_type(std::string_view text);

// The rows of each group; key_groups() lists them all.
std::span<const KeyFacts> general_keys();
std::span<const KeyFacts> tokenizer_keys();
std::span<const KeyFacts> model_keys();
std::span<const KeyFacts> attention_keys();
std::span<const KeyFacts> parts_keys();

}  // namespace modelutils::arch
