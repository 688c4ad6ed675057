#include "verify/manifest/published_list.h"

#include <fmt/core.h>

#include <algorithm>

#include "io/model_folder.h"
#include "io/remote_address.h"
#include "io/remote_folder.h"
#include "model/download_record.h"

namespace modelutils {

namespace {

// Files whose name begins with a dot are the repository's own and not part of a model.
bool is_hidden(std::string_view name) {
  return name.starts_with('.') || name.find("/.") != std::string_view::npos;
}

void take_snapshot(std::string& path, const std::string& commit, FindingLog& remarks) {
  const std::string snapshots = ModelFolder(path).file("snapshots");
  const bool is_cache = is_present(snapshots);
  std::string revision;
  if (is_cache && is_present(snapshots + "/" + commit)) {
    path = snapshots + "/" + commit;
    return;
  }
  if (!is_cache) {
    const auto place = hub_place(normal_path(path));
    if (!place || place->is_blob || place->revision == commit) return;
    revision = place->revision;
  }
  remarks.error(Scope::data, "manifest-revision",
                is_cache ? fmt::format("the cache does not have the Hub's current revision {}", commit)
                         : fmt::format("has revision {}; the Hub's current one is {}", revision, commit),
                at_file(path));
}

}  // namespace

Result<Manifest> load_published(const std::string& address, std::vector<std::string>& paths) {
  MU_ASSIGN(const auto listing, remote_listing(address));
  MU_ASSIGN(const std::optional<HubAddress> hub, hub_address(address));
  MU_ASSIGN(Manifest manifest, parse_manifest(listing->text, address));
  const std::string& wanted = hub->path;
  ManifestEntries kept;
  for (std::size_t i = 0; i < manifest.entries.size(); ++i) {
    const ManifestEntry entry = manifest.entries[i];
    const bool is_wanted = wanted.empty() || entry.file == wanted || entry.file.starts_with(wanted + "/");
    if (is_wanted && !is_hidden(entry.file)) kept.push_back(entry);
  }
  manifest.entries = std::move(kept);
  if (manifest.entries.empty()) {
    return input_error("remote-missing", "the repository has no such file", {}, {}, address);
  }
  if (!listing->commit.empty()) {
    for (std::string& path : paths) take_snapshot(path, listing->commit, manifest.remarks);
  }
  return manifest;
}

}  // namespace modelutils
