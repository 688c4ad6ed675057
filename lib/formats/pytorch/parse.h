// Parses a PyTorch checkpoint into plain structs: its tensors, and where their elements are in the file. Reads the
// pickle and the record headers, but no tensor data, and executes nothing. Source: docs/formats/pytorch.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_reader.h"
#include "base/log.h"
#include "formats/pytorch/zip.h"
#include "tensor/types.h"

namespace modelutils::pytorch {

// The contents of a PyTorch checkpoint as plain structs: its tensors, and where their elements are in the file.
// Source: docs/formats/pytorch.md.

/// A contiguous run of elements, shared by one or more tensors.
struct Storage {
  std::string key;                    ///< key in the pickle; the data is in record ROOT/data/KEY
  u32 element_bytes = 1;              ///< according to its class; 1 for an untyped storage
  u64 elements = 0;                   ///< according to its persistent id
  bool is_there = false;              ///< the file contains the data; the members below are valid
  u64 bytes = 0;                      ///< size of the data in the file, after inflating
  u64 offset = 0;                     ///< absolute; for a deflated record, the offset of the compressed bytes
  std::optional<ZipRecord> deflated;  ///< the record, if it is compressed
};

/// A strided view of a storage: element 0 is at `offset`; `strides` apply to the dimensions of `shape`.
struct Tensor {
  std::string name;  ///< keys from the root, joined by '.'; raw bytes
  TensorType type;
  std::vector<u64> shape;    ///< the last dimension varies fastest
  std::vector<u64> strides;  ///< in elements; may be 0, overlap or permute
  u64 elements = 0;          ///< product of the shape
  u64 bytes = 0;             ///< elements times element size
  std::size_t storage = 0;   ///< index into Document::storages
  u64 offset = 0;            ///< in bytes, relative to the storage
  bool is_contiguous = false;
  u64 pickle_offset = 0;  ///< position in the pickle of the opcode that makes it

  u64 element_bytes() const { return type_info(type).block_bytes; }
};

/// The contents of a checkpoint, as far as they can be read without executing anything.
struct Document {
  std::string name;  ///< of the source, for messages
  u64 file_size = 0;
  bool is_legacy = false;  ///< the sequence of pickles that torch wrote before 1.6
  std::string root;        ///< top folder of the records: "archive"; empty in the legacy form
  std::vector<ZipRecord> records;
  std::vector<Storage> storages;
  std::vector<Tensor> tensors;  ///< in pickle order, with unique names; only tensors whose data is complete
  /// "state_dict", "model" or "module" if the weights are below that key; empty if they are at the root.
  std::string wrapper;
  bool complete = false;  ///< the pickle was read to its end
  FindingLog findings;    ///< class container, "pt-…"
};

/// Number of bytes that is_checkpoint() needs from the start of a file.
inline constexpr std::size_t recognition_bytes = 512;

/// True if a file that starts with `head` is meant as a PyTorch checkpoint, even if it is broken: a ZIP archive whose
/// first record is one of torch's or whose name has a checkpoint's ending (.bin .pt .pth .ckpt), a pickle of protocol 1
/// to 5, or, with such an ending, a protocol 0 pickle that starts with an import.
bool is_checkpoint(std::string_view head, std::string_view name);

/// Parses a checkpoint in either form. Problems are findings of class error; `tensors` then has what could be read
/// anyway. Fails only if reading fails, or with "pt-size" for a source of unknown size (a pipe).
///
/// Bounded regardless of the file's contents: 64 MiB of pickle, 8 million values, linear time.
Result<Document> parse(const ByteSource& source);

}  // namespace modelutils::pytorch
