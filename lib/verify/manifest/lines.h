// Manifests that are read line by line: whatever their size, no more than a line is in memory at once. Internal.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "verify/manifest/manifest.h"

namespace modelutils {

/// Does a text that begins so, with its first line at least, consist of lines? Otherwise it is one JSON document or a
/// Git LFS pointer.
bool is_of_lines(std::string_view beginning);

/// Reads the lines into a manifest, which must outlive it.
class ManifestLines {
 public:
  explicit ManifestLines(Manifest& manifest) : manifest_(manifest) {}

  /// The next line, without its line feed. Error: "manifest-syntax".
  Status take(std::string_view line);

 private:
  Manifest& manifest_;
  u64 number_ = 0;
};

/// Refuses what begins as something that no manifest is: a model, for one. Error: "manifest-syntax".
Status refuse_other_kinds(std::string_view beginning, const std::string& path);
/// A manifest that was read to its end. Errors: "manifest-empty", "manifest-name".
Result<Manifest> complete(Manifest manifest);

}  // namespace modelutils
