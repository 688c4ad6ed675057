// What a path means that names no model by itself: a blob of a download cache, a directory of GGUF files.
#pragma once

#include <optional>
#include <string>

namespace modelutils {

/// The file of a snapshot that leads to the blob `path` of a Hugging Face cache, of a repository or shared: its name
/// and its neighbours say what the blob is. Nothing if `path` is no such blob, or no snapshot has it. Of several the
/// first by name.
std::optional<std::string> snapshot_file(const std::string& path);

/// The first GGUF file of a directory by name; empty if there is none.
std::string gguf_in(const std::string& directory);

/// The folder of a snapshot in the folder of a repository ("models--org--name") of a Hugging Face cache; empty if it is
/// none. Of several the first by name.
std::string snapshot_in(const std::string& directory);

}  // namespace modelutils
