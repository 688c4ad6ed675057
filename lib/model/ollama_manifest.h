// Reads Ollama's manifests, which list the blobs of a model (docs/formats/caches.md).
#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace modelutils {

struct OllamaLayer {
  std::string kind;  ///< last part of the media type: "model", "projector", "template", …; "config"
  std::string name;  ///< name of a tensor; otherwise empty
  std::string hex;   ///< SHA-256
  u64 bytes = 0;

  /// True if the layer is a GGUF with its own rules.
  bool is_gguf() const { return kind == "model" || kind == "projector" || kind == "adapter" || kind == "draft"; }
};

struct OllamaManifest {
  std::string blobs;  ///< the folder of the blobs
  std::vector<OllamaLayer> layers;

  /// Returns the path of a layer's blob. Uses the older name "sha256:HEX" if only that exists.
  std::string blob(const OllamaLayer& layer) const;
};

/// True for the path of a manifest: "…/manifests/HOST/NAMESPACE/NAME/TAG" with a folder "blobs" next to "manifests".
bool is_ollama_manifest(const std::string& path);

/// Reads a manifest. Error "cache-manifest": not JSON, or a layer with an invalid digest or size.
Result<OllamaManifest> read_ollama_manifest(const std::string& path);

}  // namespace modelutils
