// Reads a model in several GGUF files ("PREFIX-00001-of-00003.gguf") as one. A single file is a set of one.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "formats/gguf/document.h"
#include "io/model_folder.h"

namespace modelutils::gguf {

/// The components of a part's file name. The reference writes and expects exactly five digits each.
struct SplitName {
  std::string prefix;  ///< everything before "-00001-of-00003.gguf", folder included
  u32 number = 0;      ///< 1-based; the key split.no is 0-based
  u32 count = 0;
};

/// Splits a path. Returns nullopt if it does not end like a part of a split model, or if its number is not in 1 …
/// count.
std::optional<SplitName> parse_split_name(std::string_view path);

/// Returns "PREFIX-00001-of-00003.gguf" for part `number` (1-based).
std::string split_path(std::string_view prefix, u32 number, u32 count);

struct SetFile {
  std::string path;
  std::shared_ptr<ByteSource> source;
  Document document;
};

/// The files of one model, ordered by part number; never empty. Keys other than split.* are in files.front().
struct SplitSet {
  std::vector<SetFile> files;
  FindingLog findings;  ///< missing siblings, inconsistent split keys, duplicate tensors, wrong total ("gguf-split-…")

  bool is_split() const { return files.size() > 1; }
};

/// The part number and part count of a set's only file, from its keys split.no and split.count, if the other parts were
/// not found or not searched. lone_part() returns nullopt for a complete model.
struct PartOfSet {
  u64 number = 0;  ///< 1-based
  u64 count = 0;
};
std::optional<PartOfSet> lone_part(const SplitSet& set);

/// Opens `path` ("-" is standard input). If its keys or its name mark it as a part of a split model, also opens its
/// siblings in the same folder, which must be regular files. A sibling that is a symbolic link out of the folder gives
/// a warning, unless `links` is `follow`. Standard input and pipes have no siblings. `opened` is the file `path` if it
/// is already open.
/// Errors: those of open_source() and parse() for `path` itself. A sibling that cannot be opened or recognised is a
/// finding. Problems inside a file are in its document's findings.
Result<SplitSet> open_set(const std::string& path, OutsideLinks links = OutsideLinks::warn,
                          std::shared_ptr<ByteSource> opened = nullptr);

// The keys that describe a part of a split model.

/// True for split.no, split.count and split.tensors.count. Parts of a split model have them; complete models do not.
bool is_split_key(std::string_view key);

/// True if the set has several files, or a single file whose keys mark it as a part. The split keys are then not the
/// model's own.
bool is_in_parts(const SplitSet& set);

}  // namespace modelutils::gguf
