// Paths as text: UTF-8, with '/' between their parts (base/os/files.h). These functions access no files.
#pragma once

#include <string>
#include <string_view>

namespace modelutils {

/// Returns the path up to and including its last '/'; empty if it has none.
inline std::string folder_of(std::string_view path) {
  return std::string(path.substr(0, path.rfind('/') + 1));
}

/// Returns the path after its last '/'.
inline std::string base_name_of(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

/// Returns the folder that contains `path`, without a final '/': "a" for "a/b" and "a/", "/" for "/a", "" for "a".
std::string parent_of(std::string_view path);

/// Returns `name` in `folder`, or `name` alone if it is absolute.
std::string path_in(std::string_view folder, std::string_view name);

/// Returns the last extension of the base name, with its dot: ".gguf". Empty for "a", ".a", "." and "..".
std::string extension_of_path(std::string_view path);

/// Returns the path without ".", and without ".." after a name, assuming that no component is a link. Keeps a '/' at
/// the end or after a removed last component. Returns "." if nothing remains.
std::string normalised(std::string_view path);

/// True if `name` consists of parts separated by '/', none of them empty, "." or "..", and has no zero byte: appended
/// to a folder, it stays below that folder. (Windows takes some such names differently, see os::leads_elsewhere().)
bool stays_below(std::string_view name);

/// Returns the relative path from the folder `base` to `path`, both normalised and absolute: "b" from "/a" to "/a/b",
/// "../c" from "/a/b" to "/a/c", "." if they are equal. Empty if there is none.
std::string path_from(std::string_view base, std::string_view path);

/// Returns the normalised absolute path, resolved against the working folder; `path` itself if that is unknown.
std::string normal_path(const std::string& path);

}  // namespace modelutils
