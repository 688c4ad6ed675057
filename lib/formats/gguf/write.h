// Header writer: keys, their elements, and tensor infos through a view, so that hundreds of thousands of them need no
// copy of each. The caller writes the tensor data, which is contiguous, in order and padded.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "formats/gguf/document.h"

namespace modelutils::gguf {

/// A key and its encoded value, to be written.
struct OutKey {
  std::string key;
  ValueType type = ValueType::u8;
  std::string
      encoded;  ///< the bytes after the type field, little-endian; for an array: element type, element count, elements
};

OutKey make_key(std::string key, u32 value);  ///< UINT32
OutKey make_key_u16(std::string key, u16 value);
OutKey make_key_i32(std::string key, i32 value);
OutKey make_key_f32(std::string key, float value);
OutKey make_key_bool(std::string key, bool value);
OutKey make_key_string(std::string key, std::string_view value);
OutKey make_key_strings(std::string key, const std::vector<std::string>& values);
OutKey make_key_i32s(std::string key, const std::vector<i32>& values);
OutKey make_key_u32s(std::string key, const std::vector<u32>& values);
OutKey make_key_f32s(std::string key, const std::vector<float>& values);
OutKey make_key_bools(std::string key, const std::vector<bool>& values);
OutKey make_key_u8s(std::string key, std::string_view bytes);
/// Copies a key of a parsed document, reading an array's bytes from `source`. Errors: read errors; "gguf-big-endian".
Result<OutKey> copy_key(const ByteSource& source, const Document& document, const KeyValue& key);

/// A tensor to be written. layout() assigns its offset.
struct OutTensor {
  std::string name;
  TensorType type = TensorType::F32;
  std::vector<u64> ne;  ///< ne0 first
};

/// The layout of the file to be written.
struct OutLayout {
  std::string header;        ///< from the magic to the end of the padding before the data
  std::vector<u64> offsets;  ///< absolute, by tensor
  std::vector<u64> bytes;    ///< without padding, by tensor
  u64 file_size = 0;         ///< including the padding after the last tensor
  u64 alignment = 32;
};

/// Returns the size of the header before the padding.
u64 header_bytes(const std::vector<OutKey>& keys, const std::vector<OutTensor>& tensors);

/// Encodes the header (version 2 or 3, little-endian) and places the tensors in order without gaps. A document laid out
/// like that is reproduced byte for byte. Errors of kind input: "gguf-write-key" (empty, too long, duplicate),
/// "gguf-write-name" (tensor name empty, duplicate or longer than `limits`), "gguf-write-shape" (no dimensions, more
/// than `limits`, a dimension of 0, or rows that are not whole blocks), "gguf-write-type", "gguf-write-size",
/// "gguf-write-alignment" (not a power of two up to 16 MiB, or different from the key general.alignment, or from 32 if
/// that key is absent).
Result<OutLayout> layout(const std::vector<OutKey>& keys, const std::vector<OutTensor>& tensors, u64 alignment = 32,
                         u32 version = 3, Limits limits = ggml_limits);

// A view over tensors to be written, so that headers with hundreds of thousands of them need no copy of each.

/// A tensor to be written. The caller keeps the name and dimensions alive.
struct OutTensorView {
  std::string_view name;
  TensorType type = TensorType::F32;
  std::span<const u64> ne;
};
inline OutTensorView view_of(const OutTensor& tensor) {
  return {tensor.name, tensor.type, tensor.ne};
}

/// Tensors 0 … count - 1, produced one at a time: there may be hundreds of thousands.
class OutTensors {
 public:
  OutTensors(std::size_t count, std::function<OutTensorView(std::size_t number)> at)
      : count_(count), at_(std::move(at)) {}
  std::size_t size() const { return count_; }
  OutTensorView operator[](std::size_t number) const { return at_(number); }

 private:
  std::size_t count_;
  std::function<OutTensorView(std::size_t number)> at_;
};

/// Like the other header_bytes(), without a vector of tensors.
u64 header_bytes(const std::vector<OutKey>& keys, const OutTensors& tensors);
Result<OutLayout> layout(const std::vector<OutKey>& keys, const OutTensors& tensors, u64 alignment, u32 version,
                         Limits limits = ggml_limits);

// Splits a key's value into elements, and builds keys from encoded elements. Used to change arrays with one element per
// layer.

/// A value's element type, element count (nullopt for a scalar), and encoded bytes.
struct KeyElements {
  ValueType type = ValueType::u8;
  std::optional<u64> count;
  std::string_view bytes;  ///< points into the key

  /// Returns the number of bytes per element; 0 for strings and for empty arrays.
  u64 element_size() const;
  /// Returns element `i` as a number (a scalar's own value for any `i`); nullopt for strings, floats and negative
  /// numbers.
  std::optional<u64> number(u64 i) const;
  /// Returns a scalar float; nullopt for all other values.
  std::optional<double> real() const;
  /// Returns a scalar string; nullopt for all other values.
  std::optional<std::string_view> text() const;
};

/// Splits a key's value. The result has views into the key.
KeyElements elements_of(const OutKey& key);

/// Makes an array from encoded elements.
OutKey make_key_of_elements(std::string key, ValueType type, std::string_view bytes);

/// Encodes a number as the given element type: an integer of 8 to 64 bits, a float or a bool.
std::string encoded_number(ValueType type, u64 value);

}  // namespace modelutils::gguf
