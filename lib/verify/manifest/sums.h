// Published checksums of whole files: SHA256SUMS, the Hub's JSON, Git LFS pointers. Internal.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "json/reader.h"
#include "verify/manifest/manifest.h"

namespace modelutils {

/// The bytes that the digits stand for, or nothing if they are none or not as many as the algorithm gives.
std::optional<std::string> digest_of(HashAlgorithm algorithm, std::string_view hex);
std::size_t hex_digits(HashAlgorithm algorithm);

/// One line of sha256sum or sha1sum, "HEX  NAME", "HEX *NAME", or of their --tag form, "SHA256 (NAME) = HEX"; a line
/// that begins with '\' has '\\', '\n' and '\r' in its name. False if the line has none of these forms. Errors:
/// "manifest-syntax"; "manifest-name" for a name that leads out of the folder of the checksums.
Result<bool> parse_sums_line(std::string_view line, u64 number, Manifest& manifest);

/// The line, without its line feed, that sha256sum writes of a file.
std::string sums_line(std::string_view hex, std::string_view name);

/// What the Hub's API says of a repository: an object whose "siblings" have "rfilename" and "lfs" or "blobId"
/// (api/models/…?blobs=true), a list of objects that have "path" and "lfs" or "oid" (api/models/…/tree/…), or the list
/// of files that a cache keeps. False if it is none of these. Errors: "manifest-syntax", "manifest-name".
Result<bool> parse_hub_list(json::Element root, Manifest& manifest);

inline constexpr std::string_view lfs_pointer_begin = "version https://git-lfs.github.com/spec/";
/// A Git LFS pointer: one entry without a name. False if the text is none. Error: "manifest-syntax".
Result<bool> parse_lfs_pointer(std::string_view text, Manifest& manifest);

/// Does a name of a file stay in the folder that it is relative to? Neither absolute nor with "..", "." or an empty
/// part, nor with a NUL.
bool is_name_below(std::string_view name);

}  // namespace modelutils
