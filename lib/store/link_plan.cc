#include "store/link_plan.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/os/files.h"
#include "base/path.h"
#include "base/text.h"
#include "formats/gguf/split_set.h"
#include "io/hash.h"
#include "io/model_folder.h"
#include "io/random_access_file.h"
#include "model/download_record.h"
#include "model/format.h"
#include "store/described.h"
#include "store/store_names.h"
#include "store/store_walk.h"

namespace modelutils {

namespace {

constexpr std::size_t commit_digits = 40;
constexpr std::size_t hash_buffer = 1024 * 1024;

tl::unexpected<Error> unusable(const std::string& path, std::string message) {
  return input_error("link-source", std::move(message), {}, {}, path);
}

// Names that llama.cpp accepts in ORG/REPO: letters, digits and "_", with single "." and "-" between them.
std::string plain_name(std::string_view text) {
  std::string name;
  for (const char c : text) {
    const bool is_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    const bool is_mark = c == '.' || c == '-';
    if (!is_word && (name.empty() || !(name.back() != '.' && name.back() != '-'))) continue;
    name += is_word || is_mark ? c : '_';
  }
  while (!name.empty() && (name.back() == '.' || name.back() == '-')) name.pop_back();
  return name.empty() ? "model" : name;
}

bool ends_in(const std::string& text, std::string_view end) {
  return text.size() > end.size() && text.ends_with(end);
}

// Returns a file's name without ".gguf" and the number of a part.
std::string stem_of(const std::string& path) {
  const std::string base = base_name_of(path);
  if (const auto split = gguf::parse_split_name(base); split && split->count > 1) return split->prefix;
  const std::string ending = extension_of_path(base);
  return base.substr(0, base.size() - ending.size());
}

// PUBLISHER/MODEL of a path in Hugging Face's cache or in LM Studio's folder; else local/NAME.
void name_source(LinkSource& source) {
  source.publisher = "local";
  source.model = source.is_directory ? base_name_of(normal_path(source.path)) : stem_of(source.path);
  const std::string absolute = normal_path(source.path);
  std::string both;
  if (const auto place = hub_place(absolute)) {
    both = hub_repository_of(base_name_of(place->repository));
  } else {
    for (const StoreRoot& root : store_roots(StoreKind::lm_studio)) {
      const std::string start = normal_path(root.path) + "/";
      if (!absolute.starts_with(start)) continue;
      both = source.is_directory ? absolute.substr(start.size()) : parent_of(absolute.substr(start.size()));
    }
  }
  const std::size_t slash = both.find('/');
  if (slash == both.npos || both.find('/', slash + 1) != both.npos) return;
  source.publisher = both.substr(0, slash);
  source.model = both.substr(slash + 1);
}

// In a folder of one model, every projector is its own; elsewhere one whose name has the beginning of the model's.
bool is_own_projector(const std::string& projector, const std::string& model, bool is_only_model) {
  if (is_only_model) return true;
  constexpr std::string_view prefix = "mmproj-";
  std::string name = stem_of(projector);
  if (name.starts_with(prefix)) name.erase(0, prefix.size());
  if (const std::size_t type = name.find_last_of("-."); type != name.npos) name.resize(type);
  return !name.empty() && stem_of(model).starts_with(name);
}

void add_projectors(LinkSource& source) {
  const std::string folder = folder_of(source.path);
  u64 models = 0;
  const auto names = DirectoryNames::read(folder, [&](std::string_view name, EntryKind kind) {
    if (kind != EntryKind::file && kind != EntryKind::link) return false;
    if (!name.ends_with(".gguf") || name.starts_with('.')) return false;  // "._x.gguf": attributes, written by macOS
    const auto split = gguf::parse_split_name(name);
    if (!is_companion_name(name)) models += !split || split->number == 1 ? 1 : 0;
    return name.find("mmproj") != name.npos;
  });
  for (std::size_t i = 0; names && i < names->size(); ++i) {
    const std::string name(names->name(i));
    if (folder + name == source.path || !is_own_projector(name, source.path, models == 1)) continue;
    source.files.push_back({LinkRole::projector, folder + name, name});
  }
}

LinkRole role_of(const OllamaLayer& layer) {
  if (layer.kind == "projector") return LinkRole::projector;
  if (layer.kind == "adapter") return LinkRole::adapter;
  return layer.kind == "draft" ? LinkRole::draft : LinkRole::model;
}

// Names the blobs of a manifest: "llama3.2-latest.gguf", "mmproj-llama3.2-latest.gguf".
Result<LinkSource> manifest_source(LinkSource source) {
  MU_ASSIGN(const OllamaManifest manifest, read_ollama_manifest(source.path));
  source.is_manifest = true;
  const std::string absolute = normal_path(source.path);
  const std::string model_folder = parent_of(absolute);
  source.publisher = base_name_of(parent_of(model_folder));
  source.model = base_name_of(model_folder);
  std::string stem = source.model;
  if (ends_in(stem, "-GGUF")) stem.resize(stem.size() - 5);
  stem += "-" + base_name_of(absolute);
  u64 numbers[5] = {};
  for (const OllamaLayer& layer : manifest.layers) {
    if (!layer.name.empty())
      return unusable(source.path, "keeps each tensor as a blob of its own, which only Ollama reads");
    if (!layer.is_gguf()) continue;
    const LinkRole role = role_of(layer);
    const u64 number = ++numbers[static_cast<std::size_t>(role)];
    std::string name = role == LinkRole::projector ? "mmproj-" + stem
                       : role == LinkRole::adapter ? stem + "-adapter"
                       : role == LinkRole::draft   ? stem + "-draft"
                                                   : stem;
    if (number > 1) name += fmt::format("-{}", number);
    source.files.push_back({role, manifest.blob(layer), name + ".gguf"});
  }
  if (source.files.empty()) return unusable(source.path, "names no model");
  return source;
}

Result<LinkSource> directory_source(LinkSource source) {
  source.is_directory = true;
  const auto names = DirectoryNames::read(source.path, [](std::string_view name, EntryKind kind) {
    return name[0] != '.' && (kind == EntryKind::file || kind == EntryKind::link);
  });
  if (!names) return tl::make_unexpected(names.error());
  for (std::size_t i = 0; i < names->size(); ++i) {
    const std::string name(names->name(i));
    const std::string path = path_in(source.path, name);
    if (os::is_folder(path)) continue;
    const bool has_weights = class_of_name(name) == NameClass::safetensors;
    source.files.push_back({has_weights ? LinkRole::model : LinkRole::other, path, name});
  }
  name_source(source);
  return source;
}

Result<LinkSource> file_source(LinkSource source, const DescribedModel& described) {
  for (const StoredFile& file : described.files) {
    source.files.push_back({LinkRole::model, file.path, base_name_of(file.path)});
  }
  if (source.files.empty()) return unusable(source.path, "is not a model that can be linked");
  // A split model may be named by any part; its first one names it.
  source.path = source.files.front().from;
  name_source(source);
  if (ends_in(source.path, ".gguf")) add_projectors(source);
  return source;
}

// Sets the whole paths of the files in `folder`.
void place_files(const LinkSource& source, const std::string& folder, LinkPlan& plan) {
  for (const LinkFile& file : source.files) plan.files.push_back({file.role, file.from, folder + "/" + file.name});
}

// Adds the folders from `root` down to `folder`, and those above `root` that are missing.
void add_folders(const std::string& root, const std::string& folder, LinkPlan& plan) {
  std::vector<std::string> above;
  for (std::string path = root; !path.empty() && !os::status(path); path = parent_of(path)) above.push_back(path);
  plan.folders.assign(above.rbegin(), above.rend());
  if (above.empty()) plan.folders.push_back(root);
  for (std::size_t at = root.size() + 1; at < folder.size();) {
    const std::size_t end = std::min(folder.find('/', at), folder.size());
    plan.folders.push_back(folder.substr(0, end));
    at = end + 1;
  }
}

Result<std::string> digest_of_file(const std::string& path, Progress* progress) {
  MU_ASSIGN(const auto file, RandomAccessFile::open(path));
  Hasher hasher(HashAlgorithm::sha256);
  std::vector<std::byte> buffer(hash_buffer);
  if (progress != nullptr) progress->expect(file->file_size());
  for (u64 at = 0; at < file->file_size();) {
    const MutableBytes bytes(buffer.data(),
                             static_cast<std::size_t>(std::min<u64>(buffer.size(), file->file_size() - at)));
    MU_TRY(file->read_exact(at, bytes));
    hasher.update(bytes);
    at += bytes.size();
    if (progress != nullptr) progress->advance(bytes.size());
  }
  return hasher.hex_digest();
}

Result<std::string> store_root(StoreKind kind) {
  const std::vector<StoreRoot> roots = store_roots(kind);
  if (!roots.empty()) return roots.front().path;
  return output_error("link-no-store", fmt::format("has no folder here: HOME is not set"),
                      std::string(store_info(kind).title));
}

Status plan_lm_studio(const LinkSource& source, LinkPlan& plan) {
  MU_ASSIGN(const std::string root, store_root(StoreKind::lm_studio));
  const std::string folder = root + "/" + source.publisher + "/" + source.model;
  add_folders(root, folder, plan);
  place_files(source, folder, plan);
  return {};
}

// llama.cpp reads a repository in Hugging Face's layout, whose refs/main names a snapshot. The commit is made up from
// the files, so that the same link has the same name again.
Status plan_llama(const LinkSource& source, LinkPlan& plan) {
  MU_ASSIGN(const std::string root, store_root(StoreKind::llama_cpp));
  std::string text;
  for (const LinkFile& file : source.files) {
    const auto there = os::status(file.from);
    text += fmt::format("{} {}\n", file.name, there ? there->size : 0);
  }
  Hasher hasher(HashAlgorithm::sha1);
  hasher.update(std::as_bytes(std::span(text)));
  const std::string commit = hasher.hex_digest().substr(0, commit_digits);
  const std::string repository =
      root + "/" + hub_folder_name(plain_name(source.publisher) + "/" + plain_name(source.model));
  const auto place = hub_place(normal_path(source.path));
  if (place && place->repository == normal_path(repository)) {
    return unusable(source.path, "is in llama.cpp's cache already");
  }
  const std::string snapshot = repository + "/snapshots/" + commit;
  add_folders(root, snapshot, plan);
  plan.folders.push_back(repository + "/refs");
  place_files(source, snapshot, plan);
  plan.reference = repository + "/refs/main";
  plan.reference_text = commit;
  return {};
}

Status plan_ollama(const LinkSource& source, const LinkRequest& request, LinkPlan& plan) {
  MU_ASSIGN(const std::string root, store_root(StoreKind::ollama));
  const auto models = std::ranges::count(source.files, LinkRole::model, &LinkFile::role);
  if (models > 1) {
    return input_error("link-unsupported",
                       "is a split model, which Ollama does not read: 'gguf-edit MODEL -o ONE.gguf' writes one file",
                       {}, {}, source.path);
  }
  bool has_projector = false;
  for (const LinkFile& file : source.files) {
    // Ollama takes one projector.
    if (file.role == LinkRole::projector && std::exchange(has_projector, true)) continue;
    MU_ASSIGN(const std::string digest, digest_of_file(file.from, request.progress));
    const std::string path = root + "/blobs/sha256-" + digest;
    if (std::ranges::find(plan.files, path, &LinkFile::name) != plan.files.end()) continue;
    plan.files.push_back({file.role, file.from, path});
  }
  add_folders(root, root + "/blobs", plan);
  plan.names_are_digests = true;
  MU_ASSIGN(plan.modelfile, modelfile_of(source, plan.files));
  return {};
}

Status check_supported(const LinkSource& source, const LinkTarget& target) {
  if (!target.store || *target.store == StoreKind::hub) return {};
  const bool is_gguf = !source.is_directory && std::ranges::all_of(source.files, [&](const LinkFile& file) {
    return source.is_manifest || ends_in(file.from, ".gguf") || hub_place(normal_path(file.from)).has_value();
  });
  const bool is_fine = is_gguf || (source.is_directory && *target.store == StoreKind::lm_studio);
  if (is_fine) return {};
  return input_error(
      "link-unsupported",
      fmt::format("{} reads GGUF files{}; mlx2gguf makes one of a directory", store_info(*target.store).title,
                  *target.store == StoreKind::lm_studio ? " and directories" : ""),
      {}, {}, source.path);
}

}  // namespace

LinkTarget link_target(const std::string& text) {
  for (const StoreKind kind : {StoreKind::ollama, StoreKind::lm_studio, StoreKind::llama_cpp}) {
    if (store_info(kind).name == text) return {.store = kind};
  }
  std::string folder = text;
  while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
  return {.store = std::nullopt, .folder = std::move(folder)};
}

Result<LinkSource> link_source(const std::string& name) {
  MU_ASSIGN(const std::string path, resolve_store_name(name));
  LinkSource source{.path = path, .publisher = {}, .model = {}, .files = {}};
  TreeEntry entry{.path = path, .folder = {}};
  entry.is_manifest = is_ollama_manifest(path);
  if (!entry.is_manifest && os::is_folder(path)) {
    source.path = entry.path = only_model_in(path);
    if (os::is_folder(source.path) && !is_present(path_in(source.path, "config.json"))) {
      const std::string first = gguf_in(path);
      return unusable(path, first.empty() ? std::string("holds no model")
                                          : fmt::format("holds several models: name one, such as '{}'",
                                                        store_name(name) ? name + "/" + first : path_in(path, first)));
    }
  }
  auto described = entry.is_manifest ? describe_ollama_model(path) : describe_model(entry);
  if (!described) return tl::make_unexpected(in_file(std::move(described.error()), path));
  const std::optional<Error>& problem = described->broken ? described->broken : described->incomplete;
  if (problem) return unusable(path, "is not complete: " + problem->message);
  if (entry.is_manifest) return manifest_source(std::move(source));
  return os::is_folder(source.path) ? directory_source(std::move(source)) : file_source(std::move(source), *described);
}

Result<LinkPlan> plan_link(const LinkSource& given, const LinkRequest& request) {
  LinkSource source = given;
  if (!request.as.empty()) {
    const std::size_t slash = request.as.find('/');
    if (!stays_below(request.as) || slash == request.as.npos || request.as.find('/', slash + 1) != request.as.npos) {
      return usage_error(fmt::format("--as needs PUBLISHER/MODEL, not '{}'", request.as));
    }
    source.publisher = request.as.substr(0, slash);
    source.model = request.as.substr(slash + 1);
  }
  MU_TRY(check_supported(source, request.target));
  LinkPlan plan;
  if (!request.target.store) {
    const std::string& folder = request.target.folder;
    plan.folders.push_back(folder);
    place_files(source, folder, plan);
    return plan;
  }
  switch (*request.target.store) {
    case StoreKind::lm_studio: MU_TRY(plan_lm_studio(source, plan)); break;
    case StoreKind::ollama: MU_TRY(plan_ollama(source, request, plan)); break;
    case StoreKind::hub:
    case StoreKind::llama_cpp: MU_TRY(plan_llama(source, plan)); break;
  }
  return plan;
}

}  // namespace modelutils
