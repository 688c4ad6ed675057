// Bytes -> safetensors::Document and back. Reads the header, never the tensor data. Names and metadata are views into
// the header's text, which the document and all its copies keep alive, so 100,000 tensors need no allocation each.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/byte_reader.h"
#include "base/error.h"
#include "base/log.h"
#include "base/name_index.h"
#include "tensor/types.h"

namespace modelutils::safetensors {

// A safetensors file's header as plain structs. Names and metadata are views into the header's text, which the document
// and all its copies keep alive. 100,000 tensors thus need no allocation each.

/// The reference implementation refuses longer headers; so do we.
inline constexpr u64 max_header_bytes = 100'000'000;

/// Maximum nesting of arrays and objects, counting the outermost: the limit of the reference's JSON reader
/// (serde_json).
inline constexpr std::size_t max_depth = 128;

/// Size of the length field before the header.
inline constexpr u64 length_bytes = 8;

/// One member of `__metadata__`, unescaped, in file order. A duplicate name has several entries.
struct MetadataEntry {
  std::string_view key;
  std::string_view value;
  u64 offset = 0;  ///< absolute offset of the key's opening quote
};

/// One tensor entry whose three fields could be read. Other errors in it are left to the rules.
struct Tensor {
  std::string_view name;       ///< unescaped; may hold any character
  std::string_view dtype;      ///< as in the file, unescaped
  std::span<const u64> shape;  ///< as in the file: row-major, the contiguous dimension last
  u64 begin = 0;               ///< data_offsets, relative to Document::data_offset
  u64 end = 0;
  u64 entry_offset = 0;            ///< absolute offset of the name's opening quote in the header
  std::optional<TensorType> type;  ///< nullopt for a dtype unknown to the format

  /// end - begin; 0 if begin > end.
  u64 bytes() const { return begin <= end ? end - begin : 0; }
  /// Product of the shape, left to right. Returns nullopt on overflow, even if a later dimension is 0.
  std::optional<u64> elements() const;
  /// Returns the number of bytes required by dtype and shape. Returns nullopt if the dtype is unknown, the product
  /// overflows, or an F4 or F6 tensor does not fill whole bytes.
  std::optional<u64> expected_bytes() const;
  /// Returns the shape in ne order (contiguous dimension first).
  std::vector<u64> ne() const;
};

struct Document {
  std::string name;              ///< of the source, for messages
  std::optional<u64> file_size;  ///< nullopt for a pipe whose end was not reached
  u64 header_bytes = 0;          ///< n: the length of the JSON text
  u64 data_offset = 0;           ///< 8 + n; data_offsets are relative to it
  bool has_metadata = false;     ///< the header has a `__metadata__` object
  std::vector<MetadataEntry> metadata;
  std::vector<Tensor> tensors;  ///< in header order; includes duplicates
  /// Used in sets read from PyTorch checkpoints: number of bytes that the source has after the file's own, holding
  /// tensors gathered from their strides. Such a document has no header; its offsets are relative to the source's first
  /// byte.
  u64 gathered_bytes = 0;
  bool complete = false;  ///< the JSON object was read to its end
  NameIndex names;        ///< index of `tensors`; empty if !complete, or if there are duplicates or unreadable entries
  FindingLog findings;    ///< problems the parser found: syntax, fields, numbers, duplicates, unknown members

  /// Returns the number of bytes after the header. Returns nullopt if the file size is unknown.
  std::optional<u64> data_bytes() const;
  /// True if begin <= end and the range lies inside the file, as far as its size is known.
  bool holds(const Tensor& tensor) const;
  /// Returns the first tensor of that name, or nullptr. One hash look-up; linear if `names` is empty.
  const Tensor* find(std::string_view tensor) const;

  /// Owns the text and the dimensions that the views above point to. Opaque; see parse.cc.
  std::shared_ptr<const void> storage;
};

/// True if a file with this name that begins with `head` is a safetensors file, possibly a broken one. `head` must hold
/// file_kind_bytes, or the whole of a shorter file (io/file_kind.h). It is one if it begins with a plausible header
/// length and then, after white space, '{'; or if its name ends in ".safetensors" and it is no other format that we
/// recognise.
bool is_safetensors(std::string_view head, std::string_view name);

/// Reads the header of `source`, which may be a pipe; reads nothing after the header.
///
/// A file that is_safetensors() recognises gives a Document with the parts that could be read: `complete` is false if
/// the JSON could not be read to its end, and findings of class container give the place and the reason. Errors: read
/// errors; "st-not-safetensors" for another kind of file (an empty file, an HTML page, a pickle or ZIP checkpoint, a
/// Git LFS pointer, a GGUF file, …); the message names it.
///
/// Memory: the header's text and about 100 bytes per tensor. Time is linear.
Result<Document> parse(const ByteSource& source);

// safetensors header writer with deterministic output, for tests, examples and tools that write the format.

/// A tensor to be written. layout() assigns its offsets.
struct OutTensor {
  std::string name;
  TensorType type = TensorType::F32;
  std::vector<u64> shape;  ///< row-major, as in safetensors
};

struct OutOptions {
  bool pad_header = true;  ///< append spaces to the JSON until the data starts at a multiple of 8
};

/// The layout of the file to be written.
struct OutLayout {
  std::string header;                        ///< the header length (8 bytes), the JSON, and its padding
  std::vector<std::pair<u64, u64>> offsets;  ///< data_offsets, by tensor
  u64 file_size = 0;
};

using OutMetadata = std::vector<std::pair<std::string, std::string>>;

/// Encodes the header: `__metadata__` first, if any, then the tensors in the given order. Their data is contiguous.
/// Errors of kind input: "st-write-dtype" (a type the format does not have), "st-write-shape" (a size that overflows or
/// does not fill whole bytes), "st-write-name" (not UTF-8, `__metadata__`, or duplicate), "st-write-too-large" (a
/// header above the limit).
Result<OutLayout> layout(const OutMetadata& metadata, const std::vector<OutTensor>& tensors,
                         const OutOptions& options = {});

}  // namespace modelutils::safetensors
