#include "store/store_list.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>

#include "base/os/files.h"
#include "base/os/sharing.h"
#include "base/parallel.h"
#include "base/path.h"
#include "io/model_folder.h"

namespace modelutils {

namespace {

constexpr i64 day = i64{24} * 60 * 60 * 1'000'000'000;

std::optional<StoreKind> kind_named(std::string_view text) {
  for (const StoreKind kind : {StoreKind::ollama, StoreKind::lm_studio, StoreKind::hub, StoreKind::llama_cpp}) {
    if (store_info(kind).name == text) return kind;
  }
  return std::nullopt;
}

StoreWalk walk_places(const StoreRequest& request, StoreList& list) {
  StoreWalk walk;
  if (request.places.empty()) {
    for (const StoreRoot& root : all_store_roots()) walk_store(root, walk);
  }
  for (const std::string& place : request.places) {
    if (const auto kind = kind_named(place)) {
      for (const StoreRoot& root : store_roots(*kind)) walk_store(root, walk);
    } else if (Status walked = walk_folder(place, walk); !walked) {
      list.errors.push_back(std::move(walked.error()));
    }
  }
  return walk;
}

void note_time(const std::string& path, StoredModel& model) {
  const auto there = os::status(path);
  if (!there || !there->is_file()) return;
  model.accessed = std::max(model.accessed, os::access_time(path).value_or(0));
  model.modified = std::max(model.modified, there->modified);
}

// Notes when a model's file, or one of the files of its folder, was last used.
void note_times(const std::string& path, StoredModel& model) {
  if (!os::is_folder(path)) return note_time(path, model);
  os::list(path, [&](std::string_view name, EntryKind kind) {
    if (kind != EntryKind::directory) note_time(path + "/" + std::string(name), model);
    return true;
  });
}

std::string problem_text(const Error& error) {
  return error.code == "io-open" ? "a file of it is missing or cannot be opened" : placed_message(error);
}

// Describes one entry; nullopt if it has disappeared since the walk.
std::optional<StoredModel> described_entry(StoredEntry&& stored) {
  StoredModel model{.name = std::move(stored.name), .store = stored.store, .described = {}};
  note_times(stored.entry.path + (stored.is_unfinished ? "/blobs" : ""), model);  // before anything opens the files
  FolderModel& line = model.described.line;
  if (stored.is_unfinished) {
    line.path = stored.entry.path;
    line.bytes = stored.entry.bytes;
    model.problem = "the download is not finished";
    return model;
  }
  const bool is_manifest = stored.entry.is_manifest;
  auto described = is_manifest ? describe_ollama_model(stored.entry.path) : describe_model(stored.entry);
  if (!described) {
    if (!os::link_status(stored.entry.path) && errno == ENOENT) return std::nullopt;
    line.path = stored.entry.path;
    line.bytes = stored.entry.bytes;
    model.problem = problem_text(described.error());
    return model;
  }
  model.described = std::move(*described);
  if (model.described.broken) {
    model.problem = problem_text(*model.described.broken);
  } else if (model.described.incomplete) {
    model.problem = problem_text(*model.described.incomplete);
  }
  if (!is_manifest) return model;
  model.accessed = model.modified = 0;  // a manifest is read whenever models are listed; its blobs are not
  for (const StoredFile& file : model.described.files) note_time(file.path, model);
  return model;
}

void sort_models(std::vector<StoredModel>& models, StoreSort sort) {
  const auto less = [sort](const StoredModel& a, const StoredModel& b) {
    const FolderModel &one = a.described.line, &other = b.described.line;
    switch (sort) {
      case StoreSort::size:
        if (one.bytes != other.bytes) return one.bytes > other.bytes;
        break;
      case StoreSort::parameters:
        if (one.parameters != other.parameters) return one.parameters.value_or(0) > other.parameters.value_or(0);
        break;
      case StoreSort::used:
        if (a.used() != b.used()) return a.used() < b.used();
        break;
      case StoreSort::name: break;
    }
    return a.name != b.name ? a.name < b.name : one.path < other.path;
  };
  std::sort(models.begin(), models.end(), less);
}

}  // namespace

StoreList list_stores(const StoreRequest& request) {
  StoreList list;
  StoreWalk walk = walk_places(request, list);
  list.notes = std::move(walk.notes);
  std::vector<std::optional<StoredModel>> found(walk.entries.size());
  const Status done = parallel_for(walk.entries.size(), request.threads, [&](u64 item, unsigned) -> Status {
    const auto place = static_cast<std::size_t>(item);
    found[place] = described_entry(std::move(walk.entries[place]));
    return {};
  });
  (void)done;  // no item fails
  const i64 limit = request.unused_days ? request.now - static_cast<i64>(*request.unused_days) * day : 0;
  for (std::optional<StoredModel>& model : found) {
    if (!model || (request.unused_days && model->used() > limit)) continue;
    list.models.push_back(std::move(*model));
  }
  sort_models(list.models, request.sort);
  return list;
}

}  // namespace modelutils
