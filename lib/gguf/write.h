// Header writer: keys and tensor infos first, data afterwards by whoever has it. Always contiguous, in order, padded.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "gguf/document.h"

namespace modelutils::gguf {

/// A key and its value as they are to be written.
struct OutKey {
  std::string key;
  ValueType type = ValueType::u8;
  std::string
      encoded;  ///< what stands behind the type field, little-endian; of an array: element type, count, elements
};

OutKey make_key(std::string key, u32 value);  ///< UINT32
OutKey make_key_u16(std::string key, u16 value);
OutKey make_key_i32(std::string key, i32 value);
OutKey make_key_u64(std::string key, u64 value);
OutKey make_key_f32(std::string key, float value);
OutKey make_key_bool(std::string key, bool value);
OutKey make_key_string(std::string key, std::string_view value);
OutKey make_key_strings(std::string key, const std::vector<std::string>& values);
OutKey make_key_i32s(std::string key, const std::vector<i32>& values);
OutKey make_key_u32s(std::string key, const std::vector<u32>& values);
OutKey make_key_f32s(std::string key, const std::vector<float>& values);
OutKey make_key_bools(std::string key, const std::vector<bool>& values);
OutKey make_key_u8s(std::string key, std::string_view bytes);
/// A key of a parsed document, an array's bytes copied from its source. Errors: reading; "gguf-big-endian".
Result<OutKey> copy_key(const ByteSource& source, const Document& document, const KeyValue& key);

/// A tensor to be written. Its offset is decided by layout().
struct OutTensor {
  std::string name;
  TensorType type = TensorType::F32;
  std::vector<u64> ne;  ///< ne0 first
};

/// Where everything stands in the file to be.
struct OutLayout {
  std::string header;        ///< magic to the end of the padding before the data
  std::vector<u64> offsets;  ///< absolute, by tensor
  std::vector<u64> bytes;    ///< without padding, by tensor
  u64 file_size = 0;         ///< with the padding behind the last tensor
  u64 alignment = 32;
};

/// Bytes of the header before the padding.
u64 header_bytes(const std::vector<OutKey>& keys, const std::vector<OutTensor>& tensors);

/// Encodes the header (version 2 or 3, little-endian) and lays the tensors out, in their order, without gaps. A
/// document whose tensors stand like that comes back byte for byte. Errors of kind input: "gguf-write-key" (empty, too
/// long, twice), "gguf-write-name" (tensor names of more than 63 bytes, empty, twice), "gguf-write-shape" (no or more
/// than 4 dimensions, one of them 0, rows that are not whole blocks), "gguf-write-type", "gguf-write-size",
/// "gguf-write-alignment" (no power of two up to 16 MiB, or another one than the key general.alignment says; 32 without
/// that key).
Result<OutLayout> layout(const std::vector<OutKey>& keys, const std::vector<OutTensor>& tensors, u64 alignment = 32,
                         u32 version = 3);

}  // namespace modelutils::gguf
