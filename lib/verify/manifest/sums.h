// Published checksums of whole files: SHA256SUMS, the Hub's JSON, Git LFS pointers. Internal.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "json/reader.h"
#include "verify/manifest/manifest.h"

namespace modelutils {

/// Decodes hexadecimal digits. Returns nullopt if they are invalid or their number does not fit the algorithm.
std::optional<std::string> digest_of(HashAlgorithm algorithm, std::string_view hex);
std::size_t hex_digits(HashAlgorithm algorithm);

/// Parses one line of sha256sum or sha1sum, "HEX  NAME", "HEX *NAME", or the --tag form, "SHA256 (NAME) = HEX"; in a
/// line that begins with '\' the name is escaped with '\\', '\n' and '\r'. Returns false if the line has none of these
/// forms. Errors: "manifest-syntax"; "manifest-name" for a name that leads out of the folder of the checksums.
Result<bool> parse_sums_line(std::string_view line, u64 number, Manifest& manifest);

/// Returns the line, without its line feed, that sha256sum writes for a file.
std::string sums_line(std::string_view hex, std::string_view name);

/// Parses the Hub API's answer about a repository: an object whose "siblings" have "rfilename" and "lfs" or "blobId"
/// (api/models/…?blobs=true), a list of objects with "path" and "lfs" or "oid" (api/models/…/tree/…), or the file list
/// kept by a cache. Returns false if it is none of these. Errors: "manifest-syntax", "manifest-name".
Result<bool> parse_hub_list(json::Element root, Manifest& manifest);

inline constexpr std::string_view lfs_pointer_begin = "version https://git-lfs.github.com/spec/";
/// Parses a Git LFS pointer: one entry without a name. Returns false if the text is not a pointer. Error:
/// "manifest-syntax".
Result<bool> parse_lfs_pointer(std::string_view text, Manifest& manifest);

}  // namespace modelutils
