// Parses manifests line by line, so that memory holds one line at a time. Internal.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "verify/manifest/manifest.h"

namespace modelutils {

/// True if a text with this beginning (at least its first line) consists of lines; false for a JSON document or a Git
/// LFS pointer.
bool is_of_lines(std::string_view beginning);

/// Parses lines into a manifest, which must outlive it.
class ManifestLines {
 public:
  explicit ManifestLines(Manifest& manifest) : manifest_(manifest) {}

  /// Parses the next line, given without its line feed. Error: "manifest-syntax".
  Status take(std::string_view line);

 private:
  Manifest& manifest_;
  u64 number_ = 0;
};

/// Refuses a text whose beginning shows that it is something else, such as a model. Error: "manifest-syntax".
Status refuse_other_kinds(std::string_view beginning, const std::string& path);
/// Checks a manifest that has been read to its end. Errors: "manifest-empty", "manifest-name".
Result<Manifest> complete(Manifest manifest);

}  // namespace modelutils
