#include "store/described.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/os/files.h"
#include "base/parse_number.h"
#include "base/path.h"
#include "base/text.h"
#include "io/model_folder.h"
#include "json/reader.h"
#include "model/download_record.h"
#include "rules/gguf/rules.h"
#include "rules/safetensors/rules.h"

namespace modelutils {

namespace {

constexpr u64 max_config_bytes = u64{4} << 20;

void add_file(DescribedModel& model, const std::string& path) {
  const auto there = os::status(path);
  model.files.push_back({.path = path, .bytes = there ? there->size : 0});
}

// Parts of a model are findings of the set, not of a container.
const Finding* first_set_error(const FindingLog& log) {
  for (const Finding& finding : log) {
    if (finding.severity == Severity::error) return &finding;
  }
  return nullptr;
}

// Reads "3.2B" or "137M"; nullopt for other texts.
std::optional<u64> count_of(std::string_view text) {
  if (text.size() < 2) return std::nullopt;
  double scale = 0;
  switch (text.back()) {
    case 'K': scale = 1e3; break;
    case 'M': scale = 1e6; break;
    case 'B': scale = 1e9; break;
    case 'T': scale = 1e12; break;
    default: return std::nullopt;
  }
  double number = 0;
  double place = 0;
  for (const char c : text.substr(0, text.size() - 1)) {
    if (c == '.' && place == 0) {
      place = 1;
    } else if (c >= '0' && c <= '9') {
      number = number * 10 + (c - '0');
      place *= 10;
    } else {
      return std::nullopt;
    }
  }
  const double count = std::round(number * scale / std::max(place, 1.0));
  return count < 1e18 ? std::optional(static_cast<u64>(count)) : std::nullopt;
}

void read_config(const std::string& path, FolderModel& line) {
  const auto config = json::load(path, max_config_bytes);
  if (!config) return;
  const auto text = [&](const char* key) {
    return std::string(json::string_member((*config)->root, key).value_or(""));
  };
  line.architecture = text("model_family");
  line.parameters = count_of(text("model_type"));
  line.type = text("file_type");
}

// Returns what is wrong with a blob: missing, shorter or longer than the manifest says.
std::optional<Error> blob_problem(const OllamaManifest& manifest, const OllamaLayer& layer, const std::string& path) {
  const auto there = os::status(path);
  if (there && there->size == layer.bytes) return std::nullopt;
  const bool is_loading = !there && is_present(manifest.blobs + "/sha256-" + layer.hex + "-partial");
  Error error{.code = there ? "cache-blob-size" : "cache-blob-missing",
              .message = there        ? incomplete_text(there->size, layer.bytes)
                         : is_loading ? fmt::format("the download of its {} is not finished", layer.kind)
                                      : fmt::format("the blob of its {} is missing", layer.kind),
              .file = path};
  if (there && there->size > layer.bytes) {
    error.message = fmt::format("the blob of its {} has {} bytes, but {} in the manifest", layer.kind,
                                thousands(there->size), thousands(layer.bytes));
  }
  return error;
}

}  // namespace

Result<std::string> model_file(const std::string& path) {
  if (!is_ollama_manifest(path)) return snapshot_file(path).value_or(path);
  MU_ASSIGN(const OllamaManifest manifest, read_ollama_manifest(path));
  for (const OllamaLayer& layer : manifest.layers) {
    if (layer.kind == "model") return manifest.blob(layer);
  }
  return input_error("cache-manifest", "names no model", {}, {}, path);
}

Result<DescribedModel> describe_model(const TreeEntry& entry) {
  MU_ASSIGN(const std::string file, model_file(entry.path));
  MU_ASSIGN(PathProbe probe, probe_path(file, OutsideLinks::follow));
  if (!probe.format) return tl::make_unexpected(unknown_format(probe));
  probe.is_shard_group = entry.is_shard_group;
  MU_ASSIGN(const Model model, open_model(std::move(probe)));
  DescribedModel described;
  const Findings findings = model.gguf          ? gguf_container_findings(*model.gguf)
                            : model.safetensors ? safetensors_container_findings(model.safetensors->set)
                                                : Findings();
  const Finding* first = first_error(findings);
  if (first != nullptr) described.broken = with_path(*first, entry.path);
  const Finding* missing = model.gguf ? first_set_error(model.gguf->findings) : nullptr;
  if (missing != nullptr) described.incomplete = with_path(*missing, entry.path);
  if (model.gguf) {
    for (const gguf::SetFile& part : model.gguf->files) add_file(described, part.path);
  } else if (model.safetensors) {
    for (const safetensors::ShardFile& part : model.safetensors->set.files) add_file(described, part.path);
  } else {
    add_file(described, file);
  }
  if (const std::unique_ptr<ListingSource> source = listing_of(model)) {
    ListingRequest only_facts;
    only_facts.tensors = false;
    const Listing listing = source->list(only_facts);
    described.line = folder_model(listing);
    if (!listing.facts.companion.empty()) described.companion = listing.facts.companion.front();
  }
  described.line.path = entry.path;
  described.line.bytes = entry.bytes;
  return described;
}

Result<DescribedModel> describe_ollama_model(const std::string& path) {
  MU_ASSIGN(const OllamaManifest manifest, read_ollama_manifest(path));
  DescribedModel described;
  described.line.path = path;
  std::set<std::string> seen;
  std::string model_blob;
  bool has_weights = false;
  for (const OllamaLayer& layer : manifest.layers) {
    const std::string blob = manifest.blob(layer);
    if (layer.kind == "config") read_config(blob, described.line);
    if (!seen.insert(layer.hex).second) continue;
    described.line.bytes = checked_add(described.line.bytes, layer.bytes).value_or(described.line.bytes);
    if (auto problem = blob_problem(manifest, layer, blob); problem && !described.broken) described.broken = problem;
    if (!layer.is_gguf() && layer.name.empty()) continue;
    has_weights = true;
    described.files.push_back({.path = blob, .bytes = layer.bytes, .sha256 = layer.hex});
    if (layer.kind == "model" && model_blob.empty()) model_blob = blob;
  }
  if (!has_weights && !described.broken) {
    described.broken = Error{.code = "cache-manifest", .message = "names no model", .file = path};
  }
  const bool is_known = !described.line.architecture.empty() && !described.line.type.empty();
  if (is_known || model_blob.empty()) return described;
  auto header = describe_model({.path = model_blob, .folder = {}});
  if (!header) return described;  // a missing blob is told already
  if (described.line.architecture.empty()) described.line.architecture = header->line.architecture;
  if (header->line.parameters) described.line.parameters = header->line.parameters;
  if (described.line.type.empty()) described.line.type = header->line.type;
  if (!described.broken) described.broken = std::move(header->broken);
  return described;
}

}  // namespace modelutils
