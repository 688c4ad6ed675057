// Finds the model behind a path that is not itself a model: a blob of a download cache, or a directory of GGUF files.
#pragma once

#include <optional>
#include <string>

namespace modelutils {

/// Returns the file in a snapshot that links to the blob `path` of a Hugging Face cache, in a repository or shared; its
/// name and folder identify the blob. Returns the first by name if there are several; nullopt if `path` is not such a
/// blob or no snapshot links to it.
std::optional<std::string> snapshot_file(const std::string& path);

/// Returns the first GGUF file of a directory by name; empty if there is none.
std::string gguf_in(const std::string& directory);

/// Returns the folder of the first snapshot by name in a repository's folder ("models--org--name") of a Hugging Face
/// cache; empty if the directory is not such a folder.
std::string snapshot_in(const std::string& directory);

}  // namespace modelutils
