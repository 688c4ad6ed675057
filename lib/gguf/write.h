// Header writer: keys and tensor infos first, data afterwards by whoever has it. Always contiguous, in order, padded.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "gguf/document.h"

namespace modelutils::gguf {

/// An array as it is to be written.
struct OutArray {
  ValueType element_type = ValueType::u8;
  u64 count = 0;
  std::string encoded;  ///< the elements as they stand in the file (little-endian; strings with their lengths)
};

/// A key and its value as it is to be written; the encoded bytes behind the type field.
struct OutKey {
  std::string key;
  ValueType type = ValueType::u8;
  std::string encoded;
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
/// A key of a parsed document, its bytes copied from its source.
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

/// Encodes the header (version 3, little-endian) and lays the tensors out. Errors of kind input: names or sizes that
/// the format or the reference loader does not allow ("gguf-write-…").
Result<OutLayout> layout(const std::vector<OutKey>& keys, const std::vector<OutTensor>& tensors, u64 alignment = 32,
                         u32 version = 3);

}  // namespace modelutils::gguf
