// A model in several GGUF files ("PREFIX-00001-of-00003.gguf") as one. A single file is a set of one.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/finding_log.h"
#include "gguf/document.h"
#include "io/model_folder.h"

namespace modelutils::gguf {

/// What the name of a part says. The reference writes and expects exactly five digits each.
struct SplitName {
  std::string prefix;  ///< all before "-00001-of-00003.gguf", folder included
  u32 number = 0;      ///< 1-based; the key split.no is 0-based
  u32 count = 0;
};

/// Takes a path apart; nothing if it does not end like a part of a split model, or if its number is not among
/// 1 … count.
std::optional<SplitName> parse_split_name(std::string_view path);

/// "PREFIX-00001-of-00003.gguf" for part `number` (1-based).
std::string split_path(std::string_view prefix, u32 number, u32 count);

struct SetFile {
  std::string path;
  std::shared_ptr<ByteSource> source;
  Document document;
};

/// The files of one model in the order of their numbers, never empty. Keys other than split.* live in files.front().
struct SplitSet {
  std::vector<SetFile> files;
  FindingLog findings;  ///< missing siblings, split keys that disagree, tensors twice, wrong total ("gguf-split-…")

  bool is_split() const { return files.size() > 1; }
};

/// Which part of which number of parts the only file of `set` is by its keys split.no and split.count, where the other
/// parts were not found or not looked for; nothing for a whole model.
struct PartOfSet {
  u64 number = 0;  ///< 1-based
  u64 count = 0;
};
std::optional<PartOfSet> lone_part(const SplitSet& set);

/// Opens `path` ("-" is standard input) and, if it is a part of a split model by its keys or by its name, its siblings
/// in the same folder, which must be regular files; one that is a symbolic link out of the folder is a warning, unless
/// `links` is `follow`. Standard input and pipes have no siblings. Errors: as open_source()
/// and parse() for `path` itself; a sibling that cannot be opened or recognised is a finding. What is wrong inside a
/// file that was read stands in its document. `opened`: the file `path`, where it is open already.
Result<SplitSet> open_set(const std::string& path, OutsideLinks links = OutsideLinks::warn,
                          std::shared_ptr<ByteSource> opened = nullptr);

}  // namespace modelutils::gguf
