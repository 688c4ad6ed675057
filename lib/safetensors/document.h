// A safetensors file's header as plain structs. Names and metadata are views into the header's text, which the document
// and every copy of it keep alive: 100,000 tensors cost no allocation each.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/finding_log.h"
#include "base/name_index.h"
#include "tensor/types.h"

namespace modelutils::safetensors {

/// The reference implementation refuses longer headers, and so do we.
inline constexpr u64 max_header_bytes = 100'000'000;

/// The header's length stands in front of it.
inline constexpr u64 length_bytes = 8;

/// One member of `__metadata__`, unescaped. In the order of the file; a name that appears twice is here twice.
struct MetadataEntry {
  std::string_view key;
  std::string_view value;
  u64 offset = 0;  ///< absolute offset of the key's opening quote
};

/// One tensor entry whose three fields could be read. Anything else about it may be wrong: rules judge, not the parser.
struct Tensor {
  std::string_view name;       ///< unescaped; may hold any character
  std::string_view dtype;      ///< as in the file, unescaped
  std::span<const u64> shape;  ///< as in the file: row-major, the contiguous dimension last
  u64 begin = 0;               ///< data_offsets, relative to Document::data_offset
  u64 end = 0;
  u64 entry_offset = 0;            ///< absolute offset of the name's opening quote in the header
  std::optional<TensorType> type;  ///< nothing for a dtype that the format does not have

  /// end - begin; 0 if begin > end.
  u64 bytes() const { return begin <= end ? end - begin : 0; }
  /// Product of the shape, left to right; nothing on overflow, even if a later dimension is 0.
  std::optional<u64> elements() const;
  /// Bytes that dtype and shape ask for; nothing if the dtype is unknown, the product overflows, or F4 and F6 do not
  /// fill whole bytes.
  std::optional<u64> expected_bytes() const;
  /// The shape in ne order (contiguous dimension first).
  std::vector<u64> ne() const;
};

struct Document {
  std::string name;              ///< of the source, for messages
  std::optional<u64> file_size;  ///< nothing for a pipe whose end was not seen
  u64 header_bytes = 0;          ///< n: the length of the JSON text
  u64 data_offset = 0;           ///< 8 + n: data_offsets count from here
  bool has_metadata = false;     ///< a `__metadata__` object stands in the header
  std::vector<MetadataEntry> metadata;
  std::vector<Tensor> tensors;  ///< in the order of the header; of a duplicate name each copy
  /// Of a set read from PyTorch checkpoints: bytes of the source behind the file's own, where tensors are put together
  /// from their strides. Such a document has no header; its offsets count from the source's first byte.
  u64 gathered_bytes = 0;
  bool complete = false;  ///< the JSON object was read to its end
  NameIndex names;        ///< of `tensors` by place; empty if !complete, or with duplicates or unreadable entries
  FindingLog findings;    ///< what the parser met: syntax, fields, numbers, duplicates, unknown members

  /// Bytes behind the header; nothing if the file's size is not known.
  std::optional<u64> data_bytes() const;
  /// Is the tensor's range in order and inside the file (as far as its size is known)?
  bool holds(const Tensor& tensor) const;
  /// The value of a metadata key (the last one, as the reference has it), or nothing.
  std::optional<std::string_view> metadata_value(std::string_view key) const;
  /// The first tensor of that name, or nullptr. One hash look-up, but linear if `names` is empty.
  const Tensor* find(std::string_view tensor) const;

  /// Owns what the views above look at. Opaque; see parse.cc.
  std::shared_ptr<const void> storage;
};

}  // namespace modelutils::safetensors
