#include "model/ollama_manifest.h"

#include <fmt/core.h>

#include <filesystem>

#include "io/model_folder.h"
#include "json/reader.h"
#include "model/download_record.h"

namespace modelutils {

namespace {

constexpr u64 max_manifest_bytes = u64{16} << 20;

// Returns the models folder to which a manifest at this path belongs; empty if the path cannot be a manifest's.
std::string models_folder(const std::string& path) {
  const std::filesystem::path absolute(normal_path(path));
  const std::filesystem::path manifests = absolute.parent_path().parent_path().parent_path().parent_path();
  return manifests.filename() == "manifests" ? manifests.parent_path().string() : std::string();
}

tl::unexpected<Error> refused(std::string message, std::string where = {}) {
  return input_error("cache-manifest", std::move(message), std::move(where));
}

Result<OllamaLayer> read_layer(json::Element element, std::string where) {
  const auto digest = json::string_member(element, "digest");
  const auto bytes = json::u64_member(element, "size");
  const auto type = json::string_member(element, "mediaType");
  if (!digest || !bytes || !type) return refused("needs mediaType, digest and size", std::move(where));
  // Validate the digest before it becomes part of a path.
  const auto expected = digest->starts_with("sha256:") ? ollama_blob(*digest) : std::nullopt;
  if (!expected) return refused("the digest is not 'sha256:' and 64 hexadecimal digits", std::move(where));
  constexpr std::string_view prefix = "application/vnd.ollama.image.";
  OllamaLayer layer{.kind = std::string(*type), .name = {}, .hex = expected->hex, .bytes = *bytes};
  if (layer.kind.starts_with(prefix)) layer.kind.erase(0, prefix.size());
  if (const std::size_t end = layer.kind.find(';'); end != std::string::npos) layer.kind.resize(end);
  layer.name = json::string_member(element, "name").value_or("");
  return layer;
}

}  // namespace

std::string OllamaManifest::blob(const OllamaLayer& layer) const {
  const std::string path = blobs + "/sha256-" + layer.hex;
  const std::string older = blobs + "/sha256:" + layer.hex;
  return !is_present(path) && is_present(older) ? older : path;
}

bool is_ollama_manifest(const std::string& path) {
  std::error_code ignored;
  const std::string folder = models_folder(path);
  return !folder.empty() && std::filesystem::is_directory(folder + "/blobs", ignored);
}

Result<OllamaManifest> read_ollama_manifest(const std::string& path) {
  const auto document = json::load(path, max_manifest_bytes);
  if (!document) {
    if (is_read_failure(document.error())) return tl::make_unexpected(document.error());
    return refused("is not an Ollama manifest: " + document.error().message);
  }
  OllamaManifest manifest{.blobs = models_folder(path) + "/blobs", .layers = {}};
  const auto layers = json::array_member((*document)->root, "layers");
  if (!layers) return refused("is not an Ollama manifest: it has no layers");
  u64 number = 0;
  for (const json::Element element : *layers) {
    MU_ASSIGN(OllamaLayer layer, read_layer(element, fmt::format("layer {}", number++)));
    manifest.layers.push_back(std::move(layer));
  }
  if (const auto config = json::member((*document)->root, "config")) {
    if (const auto digest = json::string_member(*config, "digest"); digest && !digest->empty()) {
      MU_ASSIGN(OllamaLayer layer, read_layer(*config, "config"));
      layer.kind = "config";
      manifest.layers.push_back(std::move(layer));
    }
  }
  return manifest;
}

}  // namespace modelutils
