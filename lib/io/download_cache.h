// Caches of downloaded models that name files by checksum. Their files must never be changed.
#pragma once

#include <string>
#include <string_view>

namespace modelutils {

/// Returns the cache that contains the resolved path: "Hugging Face" (models--…/blobs, models--…/snapshots, the blobs
/// shared by all repositories) or "Ollama" (blobs/sha256-…); empty if none does.
std::string_view download_cache_of(std::string_view resolved_path);

/// True if this is the folder name of a repository in a Hugging Face cache ("models--org--name", "datasets--…").
bool is_hub_repository_name(std::string_view base_name);

/// True if `path`, a folder named "blobs", holds the files that all repositories of a Hugging Face cache share. It is
/// recognised by a marker file in it or by repositories next to it.
bool is_shared_blobs(const std::string& path);

/// Root of the Hugging Face cache that contains the resolved path: the parent of the innermost "models--…" folder.
/// Empty if there is none.
std::string hub_cache_root(std::string_view resolved_path);

/// True if the file `path`, and every link on the way to its target, lies in a repository of the cache `root` or in its
/// shared blobs. False if a file is missing or the links form a cycle. `root` must be resolved.
bool stays_in_hub_cache(const std::string& root, const std::string& path);

/// Returns a message about a file in such a cache: "is in a cache of Ollama, where …".
std::string in_cache_text(std::string_view cache);

}  // namespace modelutils
