// A PyTorch checkpoint as plain structs: which tensors its pickle would make, and where their elements are in the file.
// Source: docs/formats/pytorch.md.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/finding_log.h"
#include "pytorch/zip.h"
#include "tensor/types.h"

namespace modelutils::pytorch {

/// The elements of one or more tensors, in one run.
struct Storage {
  std::string key;                    ///< its name in the file: record ROOT/data/KEY
  u32 element_bytes = 1;              ///< as its class says; 1 for an untyped storage
  u64 elements = 0;                   ///< as its persistent id says
  bool is_there = false;              ///< the bytes below are in the file
  u64 bytes = 0;                      ///< that the file holds of it, after inflating
  u64 offset = 0;                     ///< absolute; of a deflated record the offset of the compressed bytes
  std::optional<ZipRecord> deflated;  ///< the record, where it is compressed
};

/// One tensor. Its elements are those of a storage from `offset` on, `strides` apart, in row-major order of `shape`.
struct Tensor {
  std::string name;  ///< path from the root, joined by '.'; raw text
  TensorType type;
  std::vector<u64> shape;    ///< the last dimension varies fastest
  std::vector<u64> strides;  ///< in elements; may be 0, overlap or permute
  u64 elements = 0;          ///< product of the shape
  u64 bytes = 0;             ///< elements times the bytes of one
  std::size_t storage = 0;   ///< place in Document::storages
  u64 offset = 0;            ///< in bytes from the storage's first
  bool is_contiguous = false;
  u64 pickle_offset = 0;  ///< where in the pickle it is made

  u64 element_bytes() const { return type_info(type).block_bytes; }
};

/// What of a checkpoint could be read without running anything.
struct Document {
  std::string name;  ///< of the source, for messages
  u64 file_size = 0;
  bool is_legacy = false;  ///< the stream of pickles that torch wrote before 1.6
  std::string root;        ///< folder of the records: "archive"; empty in the legacy form
  std::vector<ZipRecord> records;
  std::vector<Storage> storages;
  std::vector<Tensor> tensors;  ///< in the order of the pickle, each name once; only those with all their bytes
  u64 unnamed = 0;  ///< tensors and bare storages that no path of keys leads to; a finding ("pt-unnamed") names some
  /// "state_dict", "model" or "module" if the weights are the dictionary of that name; empty if they are the root.
  std::string wrapper;
  bool complete = false;  ///< the pickle was read to its end
  FindingLog findings;    ///< class container, "pt-…"
};

}  // namespace modelutils::pytorch
