// Ollama's manifests: which blobs are a model (docs/formats/caches.md).
#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace modelutils {

struct OllamaLayer {
  std::string kind;  ///< "model", "projector", "template", …: what the media type ends in; "config"
  std::string name;  ///< of a tensor; else empty
  std::string hex;   ///< SHA-256
  u64 bytes = 0;

  /// GGUF, with rules of its own.
  bool is_gguf() const { return kind == "model" || kind == "projector" || kind == "adapter" || kind == "draft"; }
};

struct OllamaManifest {
  std::string blobs;  ///< the folder of the blobs
  std::vector<OllamaLayer> layers;

  /// Path of a layer's blob; under the older name "sha256:HEX" if it is there under that alone.
  std::string blob(const OllamaLayer& layer) const;
};

/// Is this the path of a manifest, "…/manifests/HOST/NAMESPACE/NAME/TAG" with a folder "blobs" next to "manifests"?
bool is_ollama_manifest(const std::string& path);

/// Reads one. Error "cache-manifest": no JSON, or a layer whose digest or size is none.
Result<OllamaManifest> read_ollama_manifest(const std::string& path);

}  // namespace modelutils
