// Writes PyTorch checkpoints like torch, with optional faults in single fields.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"

namespace modelutils::test {

/// Return the opcodes of a pickle, as bytes.
namespace pickle {
std::string u16_bytes(u32 value);
std::string u32_bytes(u64 value);
std::string u64_bytes(u64 value);
/// BINUNICODE
std::string text(std::string_view value);
/// BININT
std::string integer(i32 value);
/// GLOBAL
std::string global(std::string_view module, std::string_view name);
/// TUPLE of the values that `items` pushes
std::string tuple(std::string_view items);
/// Returns a storage: class, key, number of elements.
std::string storage(std::string_view storage_class, std::string_view key, i32 elements);
/// A storage in the legacy form; `view` pushes its sixth member.
std::string legacy_storage(std::string_view storage_class, std::string_view key, i32 elements,
                           std::string_view view = "N");
/// _rebuild_tensor_v2 of a storage: offset, sizes, strides.
std::string tensor(std::string_view storage, i32 offset, const std::vector<i32>& sizes,
                   const std::vector<i32>& strides);
/// _rebuild_parameter_with_state of a tensor; `state` pushes its attributes.
std::string parameter(std::string_view tensor, std::string_view state);
/// PROTO 2, a dict of these entries, STOP.
std::string dict(const std::vector<std::pair<std::string, std::string>>& entries);
}  // namespace pickle

/// A record of an archive. Defaults produce a valid record; other values plant a fault.
struct ZipPart {
  std::string name;
  std::string content;
  bool deflate = false;
  std::string local_name = {};  ///< name in the local header, if different
  u16 flags = 0;
  int method = -1;  ///< in both headers
  int local_method = -1;
  i64 crc = -1;            ///< in the central directory
  i64 central_bytes = -1;  ///< size in the central directory
  i64 header_offset = -1;  ///< in the central directory
  u32 attributes = 0;      ///< external, in the central directory
  u16 disk = 0;
  std::string extra = {};       ///< extra fields in the central directory
  std::string comment = {};     ///< in the central directory
  std::string behind = {};      ///< bytes after the data, such as a data descriptor
  bool is_empty_there = false;  ///< the local header has no CRC and sizes
};

struct ZipFaults {
  int count = -1;          ///< record count in the end record
  std::string front = {};  ///< bytes before the first record
  std::string gap = {};    ///< bytes after the last record
  i64 directory_offset = -1;
  bool without_end = false;
  std::string zip64 = {};    ///< bytes before the end record
  std::string comment = {};  ///< the archive's comment
  std::string behind = {};   ///< bytes at the end of the file
};

std::string zip(const std::vector<ZipPart>& parts, const ZipFaults& faults = {});

/// Returns an archive with data.pkl, version and the given storages (key, bytes).
std::string checkpoint(std::string_view pickle, const std::vector<std::pair<std::string, std::string>>& storages = {});

}  // namespace modelutils::test
