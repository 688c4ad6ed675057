// Caches of downloaded models in which a file's name is its checksum: what is in them must never be changed.
#pragma once

#include <string>
#include <string_view>

namespace modelutils {

/// Whose cache the resolved path lies in: "Hugging Face" (models--…/blobs, models--…/snapshots, the blobs that all
/// repositories share) or "Ollama" (blobs/sha256-…); empty if in none.
std::string_view download_cache_of(std::string_view resolved_path);

/// Is this the name of a repository's folder in a Hugging Face cache ("models--org--name", "datasets--…")?
bool is_hub_repository_name(std::string_view base_name);

/// Is the folder `path`, called "blobs", the one of a Hugging Face cache whose files all repositories share? It holds
/// the mark of such folders, or repositories lie beside it.
bool is_shared_blobs(const std::string& path);

/// The root of the Hugging Face cache in which the resolved path is: what its innermost "models--…" lies in. Empty if
/// it is in none.
std::string hub_cache_root(std::string_view resolved_path);

/// Does the file `path`, and each link that it leads to, lie in a repository of the cache `root` or in its shared
/// blobs? False for what is not there, and for links that lead in a circle. `root` is resolved.
bool stays_in_hub_cache(const std::string& root, const std::string& path);

/// For people, of a file in such a cache: "is in a cache of Ollama, where …".
std::string in_cache_text(std::string_view cache);

}  // namespace modelutils
