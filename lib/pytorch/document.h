// The contents of a PyTorch checkpoint as plain structs: its tensors, and where their elements are in the file.
// Source: docs/formats/pytorch.md.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/finding_log.h"
#include "pytorch/zip.h"
#include "tensor/types.h"

namespace modelutils::pytorch {

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

}  // namespace modelutils::pytorch
