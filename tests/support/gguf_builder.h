// Writes valid or deliberately invalid GGUF files, field by field.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/types.h"
#include "formats/gguf/document.h"
#include "io/random_access_file.h"

namespace modelutils::test {

/// A tensor for the file. Values that are not given are derived: the offset from the preceding tensors, n_dims from
/// `ne`, the name's length from the name.
struct BuilderTensor {
  std::string name;
  std::vector<u64> ne;
  u32 type = 0;           ///< any id; 0 is F32
  std::string data = {};  ///< its bytes in the data section
  std::optional<u64> offset = {};
  std::optional<u32> n_dims = {};
  std::optional<u64> name_length = {};
};

/// Builds one file. Setters return the builder, so a file is a single expression:
///
///   GgufBuilder().key_string("general.architecture", "llama").f32_tensor("t", {4, 2}).build()
///
/// build() encodes everything, so big_endian() and version() apply to the whole file, wherever they are called. Nothing
/// is validated or corrected, because many tests need invalid files.
class GgufBuilder {
 public:
  GgufBuilder& magic(std::string bytes) { return magic_ = std::move(bytes), *this; }
  GgufBuilder& version(u32 version) { return version_ = version, *this; }
  GgufBuilder& big_endian(bool on = true) { return big_endian_ = on, *this; }
  /// Overrides a count in the header.
  GgufBuilder& kv_count(u64 count) { return kv_count_ = count, *this; }
  GgufBuilder& tensor_count(u64 count) { return tensor_count_ = count, *this; }
  /// Alignment of the data section. Adds no key.
  GgufBuilder& layout_alignment(u64 alignment) { return alignment_ = alignment, *this; }
  /// The byte used for all padding.
  GgufBuilder& padding(char byte) { return padding_ = byte, *this; }
  /// Omits the padding after the last tensor.
  GgufBuilder& without_end_padding() { return end_padding_ = false, *this; }
  /// Omits the padding before the data section.
  GgufBuilder& without_header_padding() { return header_padding_ = false, *this; }
  /// Bytes appended to the file.
  GgufBuilder& trailing(std::string bytes) { return trailing_ = std::move(bytes), *this; }

  // Keys, in the order of the calls.
  GgufBuilder& key_u8(std::string_view key, u8 value) { return number(key, value); }
  GgufBuilder& key_i8(std::string_view key, i8 value) { return number(key, value); }
  GgufBuilder& key_u16(std::string_view key, u16 value) { return number(key, value); }
  GgufBuilder& key_i16(std::string_view key, i16 value) { return number(key, value); }
  GgufBuilder& key_u32(std::string_view key, u32 value) { return number(key, value); }
  GgufBuilder& key_i32(std::string_view key, i32 value) { return number(key, value); }
  GgufBuilder& key_f32(std::string_view key, float value) { return number(key, value); }
  GgufBuilder& key_u64(std::string_view key, u64 value) { return number(key, value); }
  GgufBuilder& key_i64(std::string_view key, i64 value) { return number(key, value); }
  GgufBuilder& key_f64(std::string_view key, double value) { return number(key, value); }
  /// The byte may have any value.
  GgufBuilder& key_bool(std::string_view key, u8 byte);
  GgufBuilder& key_string(std::string_view key, std::string_view value);
  GgufBuilder& key_strings(std::string_view key, const std::vector<std::string>& values);
  template <typename T>
  GgufBuilder& key_array(std::string_view key, const std::vector<T>& values) {
    return key_with(key, [=](const GgufBuilder& file, std::string& out) {
      file.put<u32>(out, 9);
      file.put<u32>(out, static_cast<u32>(type_of<T>()));
      file.put_length(out, values.size());
      for (T value : values) file.put<T>(out, value);
    });
  }
  GgufBuilder& key_bools(std::string_view key, const std::vector<u8>& bytes);
  /// An array with any element type, count and bytes.
  GgufBuilder& key_raw_array(std::string_view key, u32 element_type, u64 count, std::string bytes);
  /// A key with any type id, followed by any bytes.
  GgufBuilder& key_raw(std::string_view key, u32 type, std::string bytes);
  /// A complete key record, including its length.
  GgufBuilder& raw_record(std::string bytes);

  // Tensors, in the order of the calls.
  GgufBuilder& tensor(BuilderTensor tensor) { return tensors_.push_back(std::move(tensor)), *this; }
  /// An F32 tensor with the values 0, 1, 2, …
  GgufBuilder& f32_tensor(std::string name, std::vector<u64> ne);

  /// Returns the whole file.
  std::string build() const;
  /// Returns the bytes from the magic to the end of the last tensor info, without padding.
  std::string build_header() const;
  /// Returns the whole file as a source in memory.
  std::shared_ptr<MemoryFile> source(std::string name = "built.gguf") const;

  /// Appends a number in the file's byte order, e.g. for key_raw_array().
  template <typename T>
  void put(std::string& out, T value) const {
    char bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof(T));
    if (big_endian_) std::reverse(bytes, bytes + sizeof(T));
    out.append(bytes, sizeof(T));
  }
  /// Appends a length and the text (lengths have 32 bits in version 1).
  void put_text(std::string& out, std::string_view text) const { put_length(out, text.size()), out.append(text); }
  void put_length(std::string& out, u64 length) const;

 private:
  using Encoder = std::function<void(const GgufBuilder& file, std::string& out)>;

  template <typename T>
  static constexpr gguf::ValueType type_of() {
    using gguf::ValueType;
    if constexpr (std::is_same_v<T, float>) return ValueType::f32;
    if constexpr (std::is_same_v<T, double>) return ValueType::f64;
    constexpr bool is_signed = std::is_signed_v<T>;
    if constexpr (sizeof(T) == 1) return is_signed ? ValueType::i8 : ValueType::u8;
    if constexpr (sizeof(T) == 2) return is_signed ? ValueType::i16 : ValueType::u16;
    if constexpr (sizeof(T) == 4) return is_signed ? ValueType::i32 : ValueType::u32;
    return is_signed ? ValueType::i64 : ValueType::u64;
  }
  template <typename T>
  GgufBuilder& number(std::string_view key, T value) {
    return key_with(key, [=](const GgufBuilder& file, std::string& out) {
      file.put<u32>(out, static_cast<u32>(type_of<T>()));
      file.put<T>(out, value);
    });
  }
  GgufBuilder& key_with(std::string_view key, Encoder value);

  std::string magic_ = "GGUF";
  u32 version_ = 3;
  bool big_endian_ = false;
  std::optional<u64> kv_count_;
  std::optional<u64> tensor_count_;
  u64 alignment_ = 32;
  char padding_ = '\0';
  bool end_padding_ = true;
  bool header_padding_ = true;
  std::string trailing_;
  std::vector<Encoder> keys_;
  std::vector<BuilderTensor> tensors_;
};

}  // namespace modelutils::test
