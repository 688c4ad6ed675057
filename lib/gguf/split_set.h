// A model in several GGUF files ("PREFIX-00001-of-00003.gguf") as one. A single file is a set of one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gguf/document.h"

namespace modelutils::gguf {

struct SetFile {
  std::string path;
  std::shared_ptr<ByteSource> source;
  Document document;
};

/// The files of one model in the order of split.no. Keys other than split.* live in files.front().
struct SplitSet {
  std::vector<SetFile> files;
  Findings
      findings;  ///< missing siblings, split keys that disagree, tensors in two files, wrong total ("gguf-split-…")

  bool is_split() const { return files.size() > 1; }
};

/// Opens `path` ("-" is standard input) and, if it is a part of a split model by its keys or by its name, its siblings
/// in the same folder. Errors: as open_source() and parse() for `path` itself; a sibling that cannot be opened is a
/// finding.
Result<SplitSet> open_set(const std::string& path);

}  // namespace modelutils::gguf
