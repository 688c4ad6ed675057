// A GGUF file's header as plain structs, with look-up of keys and tensors by name, typed getters, and the names of
// value types and quantisation mixes. Array elements stay in the file until requested (formats/gguf/parse.h).
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/byte_reader.h"
#include "base/error.h"
#include "base/log.h"
#include "base/name_index.h"
#include "base/types.h"
#include "tensor/types.h"

namespace modelutils::gguf {

/// Value types, numbered as in the file.
// clang-format off
enum class ValueType : u32 {
  u8 = 0, i8 = 1, u16 = 2, i16 = 3, u32 = 4, i32 = 5, f32 = 6, boolean = 7, string = 8, array = 9, u64 = 10, i64 = 11,
  f64 = 12,
};
// clang-format on

/// Returns the size of one value in the file; 0 for strings and arrays, which have no fixed size.
u32 value_size(ValueType type);
/// Returns gguf-py's name: "UINT8", "STRING", …
std::string_view value_type_name(ValueType type);
/// Returns nullopt for ids above 12.
std::optional<ValueType> value_type_from_id(u32 id);

/// An array's location in the file.
struct ArrayRef {
  ValueType element_type = ValueType::u8;
  u64 count = 0;
  u64 offset = 0;  ///< absolute offset of the first element
  u64 bytes = 0;   ///< from the first element to the end of the last
};

/// A scalar, a string (arbitrary raw bytes), or the location of an array. A bool keeps its byte, because the parser
/// accepts values other than 0 and 1.
struct Bool {
  modelutils::u8 byte = 0;
};
using Value = std::variant<modelutils::u8, modelutils::i8, modelutils::u16, modelutils::i16, modelutils::u32,
                           modelutils::i32, float, Bool, std::string, ArrayRef, modelutils::u64, modelutils::i64,
                           double>;  // in the order of the type ids

struct KeyValue {
  std::string key;       ///< raw bytes
  u64 offset = 0;        ///< absolute offset of the record (its key's length field)
  u64 value_offset = 0;  ///< absolute offset of the value: after the type; for an array, its element type field
  Value value;

  ValueType type() const { return static_cast<ValueType>(value.index()); }
};

/// The parser accepts no more dimensions.
inline constexpr modelutils::u32 max_dims = 5;

/// The limits that the programs for a kind of model have. They decide what is written and what the rules report.
struct Limits {
  modelutils::u32 dims = 0;    ///< of a tensor
  std::size_t name_bytes = 0;  ///< of a tensor's name
};
/// llama.cpp and everything else that uses ggml's reader, which stores names in 64 bytes with the terminator.
inline constexpr Limits ggml_limits = {4, 63};
/// ComfyUI-GGUF's tools for image and video models: convolutions over time have five dimensions, names of UNets are
/// long.
inline constexpr Limits image_limits = {max_dims, 127};

struct TensorInfo {
  std::string name;     ///< raw bytes
  u64 info_offset = 0;  ///< absolute offset of the record (its name's length field)
  std::vector<u64> ne;  ///< dimensions as in the file, ne0 (contiguous) first; may exceed max_dims entries
  u32 n_dims = 0;       ///< as in the file
  u32 type_id = 0;      ///< as in the file; types of forks are marked (foreign_types.h)
  u64 offset = 0;       ///< relative to the data section

  /// Returns nullopt for ids missing from the type table.
  std::optional<TensorType> type() const { return type_from_gguf(type_id); }
  /// tensor_bytes() of the type and ne. Returns nullopt if the type is unknown, the size overflows, or there are more
  /// than max_dims dimensions.
  std::optional<u64> bytes() const;
  /// Product of ne. Returns nullopt on overflow or if there are more than max_dims dimensions.
  std::optional<u64> elements() const;
};

/// A string in an array: its index and the absolute offset of its length.
struct StringMark {
  modelutils::u64 index = 0;
  modelutils::u64 offset = 0;
};

/// The key that has the texts of all tokens.
inline constexpr std::string_view tokens_key = "tokenizer.ggml.tokens";
/// Texts of tokens that end a text, a turn or a tool call: llama.cpp stops at them regardless of the keys.
std::span<const std::string_view> end_texts();

/// One GGUF file. Offsets are absolute in the file unless noted.
struct Document {
  std::string name;              ///< path as given
  std::optional<u64> file_size;  ///< nullopt for a pipe
  bool big_endian = false;
  u32 version = 0;
  u64 tensor_count = 0;  ///< as in the header
  u64 kv_count = 0;      ///< as in the header
  std::vector<KeyValue> keys;
  std::vector<TensorInfo> tensors;
  u64 alignment = 32;     ///< general.alignment if valid, else 32
  u64 header_end = 0;     ///< end of the last tensor info, or where parsing stopped
  u64 data_offset = 0;    ///< header_end rounded up to the alignment
  bool complete = false;  ///< all keys and tensor infos were read
  FindingLog findings;    ///< problems the parser found: a fatal one if !complete, bad bools, nested arrays, …
  /// One string in some thousands of each array of strings, in file order, so that a look-up skips few strings.
  std::vector<StringMark> string_marks;
  std::vector<u64> end_tokens;  ///< ids of the tokens whose texts are end_texts(), ascending; of the first tokens_key

  /// Returns the first entry with that key, or nullptr. Linear; use an Index for many look-ups.
  const KeyValue* find(std::string_view key) const;
  const TensorInfo* find_tensor(std::string_view tensor) const;
};

// Short names of value types, as gguf-dump prints and gguf-edit accepts them: "u32", "string", "f32[]".

/// "u8", "f32", "bool", "string", "array", …
std::string_view short_type_name(ValueType type);
/// Returns the type with a short name; nullopt for unknown names.
std::optional<ValueType> type_from_short_name(std::string_view name);

// Look-up of keys and tensors by name, and typed getters for converters and rules.

/// An index over a document, which must outlive the index and not change. Of duplicate names the first wins.
class Index {
 public:
  explicit Index(const Document& document);

  /// Return the first entry with this name; nullptr if there is none.
  const KeyValue* key(std::string_view key) const;
  const TensorInfo* tensor(std::string_view name) const;

  /// Returns a non-negative integer of any width, signed or unsigned; nullopt if absent, negative or of another type.
  std::optional<u64> unsigned_value(std::string_view key) const;
  /// Returns a FLOAT32 or FLOAT64.
  std::optional<double> float_value(std::string_view key) const;
  /// Any byte but 0 is true, as in the reference.
  std::optional<bool> bool_value(std::string_view key) const;
  /// Returns a STRING as raw bytes; nullopt if absent or of another type.
  std::optional<std::string_view> string_value(std::string_view key) const;
  /// Returns the array's location, or nullptr if the key does not hold an array.
  const ArrayRef* array_value(std::string_view key) const;

  /// general.architecture, or empty.
  std::string_view architecture() const;
  /// "<architecture>.<suffix>".
  std::string arch_key(std::string_view suffix) const;

 private:
  NameIndex keys_;
  NameIndex tensors_;
  std::vector<const KeyValue*> key_entries_;
  std::vector<const TensorInfo*> tensor_entries_;
};

// llama.cpp's names for quantisation mixes (general.file_type).

/// Returns "Q4_K_M" for 15; empty for unassigned codes. Source: llama.cpp's enum llama_ftype. Ignores bit 1024
/// (LLAMA_FTYPE_GUESSED).
std::string_view file_type_name(u64 code);

}  // namespace modelutils::gguf
