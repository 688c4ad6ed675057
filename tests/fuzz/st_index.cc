// Any bytes -> index of a sharded model. No file name may lead out of the folder.
#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "formats/safetensors/index.h"
#include "io/random_access_file.h"

using namespace modelutils;

namespace {

// True for a relative name without "..", including files in sub-directories.
bool stays_in_the_folder(std::string_view name) {
  if (name.empty() || name.find('\0') != name.npos) return false;
  while (true) {
    const std::size_t slash = name.find('/');
    const std::string_view part = name.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return false;
    if (slash == name.npos) return true;
    name.remove_prefix(slash + 1);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const u8* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const MemoryFile file({bytes.begin(), bytes.end()}, "model.safetensors.index.json");
  const auto index = safetensors::parse_index(file);
  if (!index) std::abort();
  if (!index->usable && first_container_error(index->findings) == nullptr) std::abort();
  if (!std::is_sorted(index->shards.begin(), index->shards.end())) std::abort();
  for (const std::string& shard : index->shards) {
    if (!stays_in_the_folder(shard)) std::abort();
  }
  for (const safetensors::IndexEntry& entry : index->entries) {
    if (entry.shard >= index->shards.size() || entry.offset >= size || data[entry.offset] != '"') std::abort();
  }
  return 0;
}
