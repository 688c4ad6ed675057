#include "model/download_record.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <functional>

#include "base/os/files.h"
#include "base/path.h"
#include "base/text.h"
#include "io/model_folder.h"
#include "io/random_access_file.h"
#include "json/reader.h"

namespace modelutils {

namespace {

constexpr std::size_t sha256_digits = 64;
constexpr std::size_t sha1_digits = 40;
constexpr u64 max_record_bytes = 4096;
constexpr int max_levels = 16;  // maximum depth of a file below its download's folder

bool is_hex(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

// Reads "COMMIT\nETAG\nTIME\n", the record that a download to a folder of the user's choice leaves for each file.
std::optional<DownloadRecord> read_metadata(const std::string& path) {
  if (!is_present(path)) return std::nullopt;
  const auto file = RandomAccessFile::open(path);
  if (!file || (*file)->file_size() > max_record_bytes) return std::nullopt;
  std::string text(static_cast<std::size_t>((*file)->file_size()), '\0');
  if (!(*file)->read_exact(0, std::as_writable_bytes(std::span(text)))) return std::nullopt;
  const auto take_line = [&] {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string line = text.substr(0, end);
    if (line.ends_with('\r')) line.pop_back();
    text.erase(0, end + 1);
    return line;
  };
  DownloadRecord record;
  record.revision = take_line();
  record.expected = expected_content(take_line());
  return record.expected ? std::optional(record) : std::nullopt;
}

// Finds the record of a download into one of the folders that contain the file.
std::optional<DownloadRecord> find_metadata(const std::string& path) {
  std::string folder = parent_of(path);
  for (int level = 0; level < max_levels; ++level) {
    const std::string records = path_in(folder, ".cache/huggingface/download");
    if (is_present(records)) return read_metadata(path_in(records, path_from(folder, path)) + ".metadata");
    std::string above = parent_of(folder);
    if (above == folder) break;
    folder = std::move(above);
  }
  return std::nullopt;
}

// True if a file in a Hugging Face cache, or a link on the way to it, is outside the cache.
bool leads_outside(const std::string& path) {
  const auto folder = os::resolve(parent_of(path));
  return !folder || !stays_in_hub_cache(hub_cache_root(*folder), path);
}

}  // namespace

std::optional<ExpectedContent> expected_content(std::string_view etag) {
  if (etag.size() > 2 && etag.starts_with('"') && etag.ends_with('"')) etag = etag.substr(1, etag.size() - 2);
  if (!is_hex(etag)) return std::nullopt;
  if (etag.size() == sha256_digits) return ExpectedContent{HashAlgorithm::sha256, std::string(etag)};
  if (etag.size() == sha1_digits) return ExpectedContent{HashAlgorithm::sha1, std::string(etag)};
  return std::nullopt;
}

std::optional<ExpectedContent> ollama_blob(std::string_view base_name) {
  constexpr std::string_view prefix = "sha256";
  if (!base_name.starts_with(prefix) || base_name.size() != prefix.size() + 1 + sha256_digits) return std::nullopt;
  const char mark = base_name[prefix.size()];
  return mark == '-' || mark == ':' ? expected_content(base_name.substr(prefix.size() + 1)) : std::nullopt;
}

std::optional<HubPlace> hub_place(std::string_view path) {
  // A nested repository takes precedence over the outer one.
  const std::size_t begin = path.rfind("/models--");
  if (begin == path.npos) return std::nullopt;
  const std::size_t end = path.find('/', begin + 1);
  if (end == path.npos) return std::nullopt;
  HubPlace place{.repository = std::string(path.substr(0, end))};
  std::string_view rest = path.substr(end + 1);
  const auto take = [&] {
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    const std::string_view part = rest.substr(0, slash);
    rest.remove_prefix(std::min(slash + 1, rest.size()));
    return part;
  };
  const std::string_view kind = take();
  place.is_blob = kind == "blobs";
  if (!place.is_blob) {
    if (kind != "snapshots") return std::nullopt;
    place.revision = take();
  }
  place.name = rest;
  return place;
}

namespace {

// Calls visit(path) for everything below a folder, without following links, until it returns false or a folder cannot
// be listed. Returns false then.
bool for_all_below(const std::string& folder, const std::function<bool(const std::string& path)>& visit) {
  bool goes_on = true;
  const bool is_listed = os::list(folder, [&](std::string_view name, EntryKind kind) {
    const std::string path = folder + "/" + std::string(name);
    goes_on = visit(path) && (kind != EntryKind::directory || for_all_below(path, visit));
    return goes_on;
  });
  return is_listed && goes_on;
}

}  // namespace

std::vector<SharedLink> shared_links(const std::string& root) {
  std::vector<SharedLink> links;
  const std::string start = normal_path(root + "/blobs/");
  const std::string resolved_start = os::resolve(root).value_or("") + "/blobs/";  // for absolute links
  const auto add = [&](const std::string& path) {
    const auto target = os::read_link(path);
    if (!target) return true;
    const std::string to = normal_path(path_in(parent_of(path), *target));
    if (to.starts_with(start) || to.starts_with(resolved_start)) links.push_back({path, base_name_of(to)});
    return true;
  };
  const auto repositories = DirectoryNames::read(root, [](std::string_view name, EntryKind kind) {
    return kind != EntryKind::file && is_hub_repository_name(name);
  });
  for (std::size_t i = 0; repositories && i < repositories->size(); ++i) {
    const std::string repository = root + (root.ends_with('/') ? "" : "/") + std::string(repositories->name(i));
    for (const char* folder : {"/blobs", "/snapshots"}) for_all_below(repository + folder, add);
  }
  std::ranges::sort(links, {}, &SharedLink::blob);
  return links;
}

std::string shared_blob_root(const std::string& path) {
  const std::string absolute = normal_path(path);
  const std::string name = base_name_of(absolute), prefix = parent_of(absolute), blobs = parent_of(prefix);
  if (base_name_of(prefix) != name.substr(0, 2) || base_name_of(blobs) != "blobs") return {};
  if (!is_shared_blobs(blobs)) return {};
  const std::string below = "blobs/" + base_name_of(prefix) + "/" + name;
  // Keep the path as the user gave it, for messages.
  if (path.ends_with("/" + below)) return path.substr(0, path.size() - below.size());
  return parent_of(blobs) + "/";
}

DownloadRecord DownloadRecords::find(const std::string& path) {
  const std::string absolute = normal_path(path);
  if (const auto place = hub_place(absolute)) {
    if (!place->is_blob) return find_in_snapshot(absolute, *place);
    return {.expected = expected_content(place->name), .is_outside = leads_outside(absolute)};
  }
  if (const std::string root = shared_blob_root(absolute); !root.empty()) {
    for (const SharedLink& link : shared_links(root)) {
      auto expected = link.target == base_name_of(absolute) ? expected_content(base_name_of(link.blob)) : std::nullopt;
      if (expected) return {.expected = std::move(expected)};
    }
    return {};
  }
  if (auto expected = ollama_blob(base_name_of(absolute))) return {.expected = std::move(expected)};
  return find_metadata(absolute).value_or(DownloadRecord{});
}

DownloadRecord DownloadRecords::find_in_snapshot(const std::string& path, const HubPlace& place) {
  DownloadRecord record{.revision = place.revision};
  if (const auto target = os::read_link(path)) {
    const std::string blob = normalised(path_in(parent_of(path), *target));
    const auto blob_place = hub_place(blob);
    record.is_missing = !os::status(path) && errno == ENOENT;
    const bool is_blob = blob_place && blob_place->is_blob;
    record.is_outside = record.is_missing ? !is_blob : leads_outside(path);
    if (is_blob) record.blob = blob;
    if (is_blob && !record.is_outside) record.expected = expected_content(blob_place->name);
  }
  add_listed(place, record);
  return record;
}

// Adds facts from the revision's file list, if the cache has it.
void DownloadRecords::add_listed(const HubPlace& place, DownloadRecord& record) {
  const std::string path = place.repository + "/trees/" + place.revision + ".json";
  if (path != list_path_) {
    list_path_ = path;
    list_.reset();
    if (is_present(path)) {
      if (auto list = json::load(path)) list_ = std::move(*list);
    }
  }
  if (list_ == nullptr || json::u64_member(list_->root, "format_version") != 1) return;
  const auto files = json::member(list_->root, "files");
  const auto file = files ? json::member(*files, place.name) : std::nullopt;
  if (!file) return;
  record.bytes = json::u64_member(*file, "lfs_size");
  if (!record.bytes) record.bytes = json::u64_member(*file, "size");
  if (record.expected) return;
  const auto sha256 = json::string_member(*file, "lfs_sha256");
  const auto blob = json::string_member(*file, "blob_id");
  if (sha256 || blob) record.expected = expected_content(sha256 ? *sha256 : *blob);
}

namespace {

constexpr u64 max_manifest_bytes = u64{16} << 20;

// Returns the models folder to which a manifest at this path belongs; empty if the path cannot be a manifest's.
std::string models_folder(const std::string& path) {
  const std::string manifests = parent_of(parent_of(parent_of(parent_of(normal_path(path)))));
  return base_name_of(manifests) == "manifests" ? parent_of(manifests) : std::string();
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
  return !is_present(path) && os::link_status(older) ? older : path;
}

bool is_ollama_manifest(const std::string& path) {
  const std::string folder = models_folder(path);
  return !folder.empty() && os::is_folder(folder + "/blobs");
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

namespace {

constexpr int most_entries = 100000;  // over all snapshots of a repository

std::string first_of(const std::string& directory, EntryKind wanted, std::string_view ending) {
  const auto names = DirectoryNames::read(directory, [&](std::string_view name, EntryKind kind) {
    return (kind == wanted || (wanted == EntryKind::file && kind == EntryKind::link)) && name.ends_with(ending);
  });
  return names && names->size() > 0 ? std::string(names->name(0)) : std::string();
}

}  // namespace

std::optional<std::string> snapshot_file(const std::string& path) {
  if (const std::string root = shared_blob_root(path); !root.empty()) {
    for (const SharedLink& link : shared_links(root)) {
      if (link.target != base_name_of(path)) continue;
      const std::optional<HubPlace> at = hub_place(normal_path(link.blob));
      if (!at) continue;  // it belongs to no repository
      auto file = at->is_blob ? snapshot_file(link.blob) : std::optional(link.blob);
      if (file) return file;
    }
    return std::nullopt;
  }
  const std::optional<HubPlace> place = hub_place(normal_path(path));
  if (!place || !place->is_blob || place->name.empty() || place->name.find('/') != std::string::npos) {
    return std::nullopt;
  }
  // Keep the path as the user gave it, for messages.
  const std::string below = "blobs/" + place->name;
  const std::string repository =
      path.ends_with(below) ? path.substr(0, path.size() - below.size()) : place->repository + "/";
  std::optional<std::string> found;
  int entries = 0;
  for_all_below(repository + "snapshots", [&](const std::string& file) {
    if (++entries >= most_entries) return false;
    const auto target = os::read_link(file);
    if (target && base_name_of(*target) == place->name && (!found || file < *found)) found = file;
    return true;
  });
  return found;
}

std::string gguf_in(const std::string& directory) {
  return first_of(directory, EntryKind::file, ".gguf");
}

std::string snapshot_in(const std::string& directory) {
  if (!hub_place(normal_path(directory) + "/snapshots/any")) return {};
  const std::string revision = first_of(directory + "/snapshots", EntryKind::directory, "");
  return revision.empty() ? revision : "snapshots/" + revision;
}

}  // namespace modelutils
