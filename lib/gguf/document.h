// A GGUF file's header as plain structs. Values of arrays stay in the file until asked for (gguf/parse.h).
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/byte_source.h"
#include "base/error.h"
#include "base/finding_log.h"
#include "tensor/types.h"

namespace modelutils::gguf {

/// Value types by their ids in the file.
// clang-format off
enum class ValueType : u32 {
  u8 = 0, i8 = 1, u16 = 2, i16 = 3, u32 = 4, i32 = 5, f32 = 6, boolean = 7, string = 8, array = 9, u64 = 10, i64 = 11,
  f64 = 12,
};
// clang-format on

/// Bytes of one value in the file; 0 for strings and arrays, whose size is not fixed.
u32 value_size(ValueType type);
/// gguf-py's names: "UINT8", "STRING", …
std::string_view value_type_name(ValueType type);
/// Nothing for ids above 12.
std::optional<ValueType> value_type_from_id(u32 id);

/// An array where it stands in the file.
struct ArrayRef {
  ValueType element_type = ValueType::u8;
  u64 count = 0;
  u64 offset = 0;  ///< absolute offset of the first element
  u64 bytes = 0;   ///< from the first element to the end of the last
};

/// A scalar, a string (raw bytes, may hold anything), or where an array stands. bool keeps its byte (0 and 1 are
/// valid).
struct Bool {
  modelutils::u8 byte = 0;
};
using Value = std::variant<modelutils::u8, modelutils::i8, modelutils::u16, modelutils::i16, modelutils::u32,
                           modelutils::i32, float, Bool, std::string, ArrayRef, modelutils::u64, modelutils::i64,
                           double>;  // in the order of the type ids

struct KeyValue {
  std::string key;       ///< raw bytes
  u64 offset = 0;        ///< absolute offset of the record (its key's length field)
  u64 value_offset = 0;  ///< absolute offset of the value (behind the type; an array's element type field)
  Value value;

  ValueType type() const { return static_cast<ValueType>(value.index()); }
};

/// More dimensions break the format.
inline constexpr modelutils::u32 max_dims = 4;

struct TensorInfo {
  std::string name;     ///< raw bytes
  u64 info_offset = 0;  ///< absolute offset of the record (its name's length field)
  std::vector<u64> ne;  ///< dimensions as in the file, ne0 (contiguous) first, even more than max_dims
  u32 n_dims = 0;       ///< as in the file
  u32 type_id = 0;      ///< as in the file
  u64 offset = 0;       ///< relative to the data section

  /// Nothing for ids that the table does not have.
  std::optional<TensorType> type() const { return type_from_gguf(type_id); }
  /// tensor_bytes() of type and ne; nothing if unknown, unrepresentable or of more than max_dims dimensions.
  std::optional<u64> bytes() const;
  /// Product of ne; nothing on overflow and for more than max_dims dimensions.
  std::optional<u64> elements() const;
};

/// One GGUF file. Offsets are absolute in the file unless said otherwise.
struct Document {
  std::string name;              ///< path as given
  std::optional<u64> file_size;  ///< nothing for a pipe
  bool big_endian = false;
  u32 version = 0;
  u64 tensor_count = 0;  ///< as in the header
  u64 kv_count = 0;      ///< as in the header
  std::vector<KeyValue> keys;
  std::vector<TensorInfo> tensors;
  u64 alignment = 32;     ///< general.alignment where valid, else 32
  u64 header_end = 0;     ///< behind the last tensor info (or where parsing stopped)
  u64 data_offset = 0;    ///< header_end rounded up to the alignment
  bool complete = false;  ///< all keys and tensor infos were read
  FindingLog findings;    ///< what the parser met: a fatal one if !complete, bad bools, nested arrays, …

  /// The first entry with that key, or nullptr. Linear; build an index for many look-ups (gguf/keys.h).
  const KeyValue* find(std::string_view key) const;
  const TensorInfo* find_tensor(std::string_view tensor) const;
};

}  // namespace modelutils::gguf
