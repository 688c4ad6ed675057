// Paths as text: UTF-8, with '/' between their parts (base/os/files.h). These functions look at no file.
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

/// Returns the folder that holds `path`, without a '/' at its end: "a" for "a/b" and "a/", "/" for "/a", "" for "a".
std::string parent_of(std::string_view path);

/// Returns `name` in `folder`, or `name` alone if it is absolute.
std::string path_in(std::string_view folder, std::string_view name);

/// Returns the last extension of the base name, with its dot: ".gguf". Empty for "a", ".a", "." and "..".
std::string extension_of_path(std::string_view path);

/// Returns the path without ".", and without ".." where it follows a name, as if no part were a link. A '/' at the end,
/// or after a last part that was removed, stays. "." if nothing is left.
std::string normalised(std::string_view path);

/// Returns the path that leads from the folder `base` to `path`, both normalised and absolute: "b" from "/a" to "/a/b",
/// "../c" from "/a/b" to "/a/c", "." if they are the same. Empty if there is none.
std::string path_from(std::string_view base, std::string_view path);

/// The absolute path, by the working folder, normalised; `path` itself if the working folder is unknown.
std::string normal_path(const std::string& path);

}  // namespace modelutils
