#include "store/store_names.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "base/not_found.h"
#include "base/os/files.h"
#include "base/path.h"
#include "base/text.h"
#include "formats/gguf/split_set.h"
#include "io/model_folder.h"
#include "io/remote_address.h"
#include "model/download_record.h"
#include "store/store_walk.h"

namespace modelutils {

namespace {

constexpr std::size_t most_name_bytes = 1024;

constexpr StoreKind kinds[] = {StoreKind::ollama, StoreKind::lm_studio, StoreKind::hub, StoreKind::llama_cpp};

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Rules of Ollama's names: letters, digits, "_", "-" and ".", beginning with a letter, a digit or "_"; hosts may have a
// port, namespaces no dot.
bool is_ollama_part(std::string_view part, std::string_view more, std::size_t most_bytes) {
  if (part.empty() || part.size() > most_bytes || !is_word(part[0])) return false;
  return std::ranges::all_of(part, [&](char c) { return is_word(c) || c == '-' || more.find(c) != more.npos; });
}

tl::unexpected<Error> refused(const std::string& name, const StoreInfo& info) {
  return input_error("store-name",
                     fmt::format("is not a name of a model in {}: it should be {}", info.title, info.syntax), {}, {},
                     name);
}

// Returns " (did you mean …)" with the closest name that exists, or says how to list them.
std::string hint_for(const std::string& name, const StoreInfo& info) {
  StoreWalk walk;
  for (const StoreRoot& root : store_roots(info.kind)) walk_store(root, walk);
  // Tags and the names of files may be left out, so both forms are offered.
  const auto without_tag = [](const std::string& text) { return text.substr(0, text.rfind(':')); };
  const bool has_tags = info.kind == StoreKind::ollama;
  const bool has_tag = has_tags && name.find(':') != name.rfind(':');
  const std::string model = has_tag ? without_tag(name) : name;
  ClosestName closest(name);
  for (const StoredEntry& stored : walk.entries) {
    if (has_tags && without_tag(stored.name) == model) return fmt::format("; there is '{}'", stored.name);
    closest.offer(stored.name);
    closest.offer(has_tags ? without_tag(stored.name) : stored.name + "/" + base_name_of(stored.entry.path));
  }
  return closest.hint(walk.entries.empty() ? "" : fmt::format("; 'modelutils ls {}' lists them", info.name));
}

// The error about a name that no root has.
tl::unexpected<Error> missing(const std::string& name, const StoreInfo& info) {
  std::vector<std::string> places;
  for (const StoreRoot& root : store_roots(info.kind)) {
    std::string place = "'" + root.path + "'";
    if (std::ranges::find(places, place) == places.end()) places.push_back(std::move(place));
  }
  const std::string where = places.empty() ? "no folder: HOME is not set" : joined(places, " and ");
  return input_error("store-missing",
                     fmt::format("is not among {}'s models; looked in {}{}", info.title, where, hint_for(name, info)),
                     {}, {}, name);
}

// Returns the first path for which `found` returns one, over all roots; empty if there is none.
std::string in_roots(StoreKind kind, const std::function<std::string(const StoreRoot&)>& found) {
  for (const StoreRoot& root : store_roots(kind)) {
    if (std::string path = found(root); !path.empty()) return path;
  }
  return {};
}

Result<std::string> ollama_path(const std::string& name, std::string_view rest) {
  const auto below = ollama_manifest_path(rest);
  if (!below) return refused(name, store_info(StoreKind::ollama));
  return in_roots(StoreKind::ollama, [&](const StoreRoot& root) {
    std::string path = root.path + "/manifests/" + *below;
    const auto there = os::status(path);
    return there && there->is_file() ? path : std::string();
  });
}

// Returns the path if something is there, with ".gguf" if the name lacks that; else empty.
std::string present_file(const std::string& path) {
  for (const char* ending : {"", ".gguf"}) {
    if (os::status(path + ending)) return path + ending;
  }
  return os::link_status(path) ? path : std::string();  // a link whose blob is missing: opening it says so
}

Result<std::string> lm_studio_path(const std::string& name, std::string_view rest) {
  if (!stays_below(rest) || rest.find('/') == rest.npos) return refused(name, store_info(StoreKind::lm_studio));
  return in_roots(StoreKind::lm_studio, [&](const StoreRoot& root) {
    const std::string path = present_file(root.path + "/" + std::string(rest));
    return path.empty() ? path : only_model_in(path);
  });
}

struct RepositoryName {
  std::string repository, revision, file;
};

std::optional<RepositoryName> parse_repository(std::string_view rest) {
  if (!stays_below(rest)) return std::nullopt;
  const std::size_t slash = rest.find('/');
  if (slash == rest.npos || slash == 0) return std::nullopt;
  const std::size_t end = std::min(rest.find('/', slash + 1), rest.size());
  RepositoryName name{.repository = std::string(rest.substr(0, end)),
                      .revision = {},
                      .file = std::string(rest.substr(std::min(end + 1, rest.size())))};
  if (const std::size_t at = name.repository.find('@'); at != name.repository.npos) {
    name.revision = name.repository.substr(at + 1);
    name.repository.resize(at);
    if (name.revision.empty()) return std::nullopt;
  }
  // refs/pr/N and refs/convert/NAME contain slashes and take three parts of the name, as in hf:// addresses.
  if (name.revision == "refs") {
    const std::size_t first = name.file.find('/');
    if (first == name.file.npos) return std::nullopt;
    const std::size_t second = std::min(name.file.find('/', first + 1), name.file.size());
    name.revision += "/" + name.file.substr(0, second);
    name.file.erase(0, std::min(second + 1, name.file.size()));
  }
  for (std::size_t at = name.revision.find("%2F"); at != std::string::npos; at = name.revision.find("%2F")) {
    name.revision.replace(at, 3, "/");
  }
  const bool is_plain = name.repository.find("--") == std::string::npos;  // would name another repository's folder
  if (!is_plain || !stays_below(name.repository) || name.repository.ends_with('/')) return std::nullopt;
  if (!name.revision.empty() && !stays_below(name.revision)) return std::nullopt;
  return name;
}

// Returns the commit of a branch, tag or (part of a) commit; empty if it is not there.
std::string commit_of(const std::string& repository, const std::string& revision) {
  if (revision.empty()) return default_commit(repository);
  const auto has = [&](const std::string& commit) {
    return !commit.empty() && commit.find('/') == commit.npos && stays_below(commit) &&
           os::is_folder(repository + "/snapshots/" + commit);
  };
  if (std::string commit = first_line_of(repository + "/refs/" + revision); is_commit(commit) && has(commit)) {
    return commit;
  }
  if (has(revision)) return revision;
  constexpr std::size_t least_digits = 4;
  std::string found;
  u64 matches = 0;
  if (revision.size() < least_digits) return found;
  os::list(repository + "/snapshots", [&](std::string_view name, EntryKind kind) {
    if (kind == EntryKind::directory && name.starts_with(revision)) {
      found = name;
      ++matches;
    }
    return true;
  });
  return matches == 1 ? found : std::string();
}

std::string hub_path(const StoreRoot& root, const RepositoryName& name) {
  const std::string repository = root.path + "/" + hub_folder_name(name.repository);
  const std::string commit = commit_of(repository, name.revision);
  if (commit.empty()) return {};
  // llama.cpp counts a repository only if a ref names the snapshot.
  if (root.kind == StoreKind::llama_cpp && !is_commit(commit)) return {};
  const std::string snapshot = repository + "/snapshots/" + commit;
  if (name.file.empty()) return only_model_in(snapshot);
  const std::string path = present_file(snapshot + "/" + name.file);
  return path.empty() ? path : only_model_in(path);
}

Result<std::string> hub_name_path(const std::string& name, std::string_view rest) {
  const auto parsed = parse_repository(rest);
  if (!parsed) return refused(name, store_info(StoreKind::hub));
  return in_roots(StoreKind::hub, [&](const StoreRoot& root) { return hub_path(root, *parsed); });
}

// Returns the file in the flat layout: by its name, or "ORG_REPO_FILE" for "ORG/REPO/FILE".
std::string flat_path(const StoreRoot& root, std::string_view rest) {
  std::string name(rest);
  std::ranges::replace(name, '/', '_');
  if (const std::string path = present_file(root.path + "/" + name); !path.empty() && !os::is_folder(path)) return path;
  if (rest.find('/') == rest.npos) return {};
  const auto files = DirectoryNames::read(root.path, [&](std::string_view file, EntryKind kind) {
    const bool is_file = kind == EntryKind::file || kind == EntryKind::link;
    const auto split = gguf::parse_split_name(file);
    return is_file && file.starts_with(name + "_") && file.ends_with(".gguf") && !is_companion_name(file) &&
           (!split || split->number == 1);
  });
  // With several, the folder would list the models of other repositories, too.
  return files && files->size() == 1 ? root.path + "/" + std::string(files->name(0)) : std::string();
}

Result<std::string> llama_path(const std::string& name, std::string_view rest) {
  if (!stays_below(rest)) return refused(name, store_info(StoreKind::llama_cpp));
  const auto parsed = parse_repository(rest);
  return in_roots(StoreKind::llama_cpp, [&](const StoreRoot& root) {
    if (root.layout == StoreLayout::flat) return flat_path(root, rest);
    return parsed ? hub_path(root, *parsed) : std::string();
  });
}

}  // namespace

std::optional<StoreName> store_name(std::string_view text) {
  for (const StoreKind kind : kinds) {
    const std::string_view prefix = store_info(kind).name;
    if (!text.starts_with(prefix) || text.size() == prefix.size() || text[prefix.size()] != ':') continue;
    const std::string_view rest = text.substr(prefix.size() + 1);
    if (rest.starts_with("//")) return std::nullopt;
    return StoreName{kind, rest};
  }
  return std::nullopt;
}

std::optional<std::string> ollama_manifest_path(std::string_view name) {
  constexpr std::size_t most_host = 350, most_part = 80;
  std::string_view tag = "latest", host = "registry.ollama.ai", owner = "library";
  if (const std::size_t colon = name.rfind(':'); colon != name.npos && name.find('/', colon) == name.npos) {
    tag = name.substr(colon + 1);
    name = name.substr(0, colon);
  }
  std::string_view model = name.substr(name.rfind('/') + 1);
  if (model.size() < name.size()) {
    name.remove_suffix(model.size() + 1);
    owner = name.substr(name.rfind('/') + 1);
    if (owner.size() < name.size()) host = name.substr(0, name.size() - owner.size() - 1);
  }
  const bool is_valid = is_ollama_part(host, ".:", most_host) && is_ollama_part(owner, "", most_part) &&
                        is_ollama_part(model, ".", most_part) && is_ollama_part(tag, ".", most_part);
  if (!is_valid) return std::nullopt;
  return fmt::format("{}/{}/{}/{}", host, owner, model, tag);
}

namespace {

// Returns the path of a name; empty if no root has it. Error: "store-name".
Result<std::string> found_path(const std::string& name, const StoreName& parsed) {
  if (name.size() > most_name_bytes) return refused(name, store_info(parsed.kind));
  switch (parsed.kind) {
    case StoreKind::ollama: return ollama_path(name, parsed.rest);
    case StoreKind::lm_studio: return lm_studio_path(name, parsed.rest);
    case StoreKind::hub: return hub_name_path(name, parsed.rest);
    case StoreKind::llama_cpp: return llama_path(name, parsed.rest);
  }
  return std::string();
}

}  // namespace

Result<std::string> resolve_store_name(const std::string& name) {
  const auto parsed = store_name(name);
  if (!parsed) return name;
  MU_ASSIGN(std::string path, found_path(name, *parsed));
  if (path.empty()) return missing(name, store_info(parsed->kind));
  return path;
}

std::string suggested_store_name(const std::string& text) {
  if (text.size() > most_name_bytes || !stays_below(text) || store_name(text)) return {};
  for (const StoreKind kind : kinds) {
    std::string name = fmt::format("{}:{}", store_info(kind).name, text);
    const auto parsed = store_name(name);
    const auto path = parsed ? found_path(name, *parsed) : Result<std::string>();
    if (path && !path->empty()) return name;
  }
  return {};
}

Result<std::string> model_path(const std::string& named, Manifests manifests) {
  MU_ASSIGN(std::string path, resolve_store_name(named));
  return manifests == Manifests::to_model ? manifest_model(path) : path;
}

std::optional<Error> clearer_name_error(const Error& error, const std::string& named) {
  if (error.kind != ErrorKind::input || error.file.empty() || is_address(error.file)) return std::nullopt;
  Error better = error;
  if (named != error.file && os::is_folder(error.file)) {
    const std::string first = gguf_in(error.file);
    const bool is_no_model =
        error.code == "io-directory" || error.code == "convert-no-config" || error.code == "st-no-model";
    if (first.empty() || !is_no_model) return std::nullopt;
    better.message = fmt::format("has several models: name one of them, such as '{}/{}'", named, first);
    better.file = named;
    return better;
  }
  if (error.offset || os::link_status(error.file)) return std::nullopt;
  const std::string name = suggested_store_name(error.file);
  if (name.empty()) return std::nullopt;
  better.message += fmt::format("; a model in a store is named '{}'", name);
  return better;
}

std::string manifest_model(const std::string& path) {
  if (!is_ollama_manifest(path)) return path;
  const auto manifest = read_ollama_manifest(path);
  if (!manifest) return path;
  const auto model = std::ranges::find(manifest->layers, "model", &OllamaLayer::kind);
  return model == manifest->layers.end() ? path : manifest->blob(*model);
}

}  // namespace modelutils
