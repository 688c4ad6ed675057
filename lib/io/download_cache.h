// Caches of downloaded models in which a file's name is its checksum: what is in them must never be changed.
#pragma once

#include <string>
#include <string_view>

namespace modelutils {

/// Whose cache the resolved path lies in: "Hugging Face" (models--…/blobs, models--…/snapshots) or "Ollama"
/// (blobs/sha256-…); empty if in none.
std::string_view download_cache_of(std::string_view resolved_path);

/// For people, of a file in such a cache: "is in a cache of Ollama, where …".
std::string in_cache_text(std::string_view cache);

}  // namespace modelutils
