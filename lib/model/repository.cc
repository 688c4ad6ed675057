#include "model/repository.h"

#include "base/path.h"
#include "gguf/split_set.h"
#include "io/model_folder.h"
#include "io/remote_address.h"
#include "io/remote_folder.h"

namespace modelutils {

namespace {

bool is_model_name(std::string_view name) {
  const std::string base = base_name_of(name);
  return base.ends_with(".gguf") && base.find("mmproj") == std::string::npos &&
         base.find("imatrix") == std::string::npos;
}

}  // namespace

std::string Repository::path_of(const RepositoryEntry& entry) const {
  return ModelFolder(path).file(entry.name);
}

Result<Repository> list_repository(const std::string& path) {
  MU_ASSIGN(const auto listing, remote_listing(path));
  MU_ASSIGN(const auto hub, hub_address(path));
  const std::string start = hub->path.empty() ? std::string() : hub->path + "/";
  Repository repository;
  repository.path = path;
  repository.commit = listing->commit;
  std::string last_set;
  for (const ListedRemote& file : listing->files) {
    if (!file.name.starts_with(start)) continue;
    RepositoryEntry entry{file.name.substr(start.size()), 1, file.size};
    if (!is_model_name(entry.name)) {
      repository.others.push_back(std::move(entry));
      continue;
    }
    const auto split = gguf::parse_split_name(entry.name);
    const std::string set = split ? gguf::split_path(split->prefix, 1, split->count) : std::string();
    if (split && set == last_set) {  // sorted by name, so files of a set are adjacent
      RepositoryEntry& first = repository.models.back();
      ++first.files;
      first.bytes += entry.bytes;
    } else {
      repository.models.push_back(std::move(entry));
    }
    last_set = set;
  }
  if (repository.models.empty() && repository.others.empty()) {
    return input_error("remote-missing", "there is no file in this folder", {}, {}, path);
  }
  return repository;
}

}  // namespace modelutils
