#include "listing/config_cache.h"

#include <algorithm>
#include <iterator>

#include "arch/families.h"
#include "arch/geometry.h"
#include "arch/key_writer.h"
#include "gguf/parse.h"
#include "gguf/write.h"
#include "io/random_access_file.h"

namespace modelutils {

std::optional<memory::CacheSummary> cache_summary(const hf::Config& config) {
  const arch::Family* family = arch::find_family(config);
  if (family == nullptr || !config.block_count) return std::nullopt;
  const Result<arch::Sizes> sizes = arch::solve_sizes(*family, config, *config.block_count, {}, {});
  if (!sizes) return std::nullopt;
  Result<arch::ModelKeys> written = arch::write_keys(*family, config, *sizes, false);
  if (!written) return std::nullopt;
  std::vector<gguf::OutKey> keys = {gguf::make_key_string("general.architecture", family->gguf)};
  std::ranges::move(written->keys, std::back_inserter(keys));
  const Result<gguf::OutLayout> layout = gguf::layout(keys, {});
  if (!layout) return std::nullopt;
  const Bytes header = std::as_bytes(std::span(layout->header));
  const auto source = std::make_shared<MemoryFile>(std::vector<std::byte>(header.begin(), header.end()));
  Result<gguf::Document> document = gguf::parse(*source);
  if (!document) return std::nullopt;
  gguf::SplitSet set;
  set.files.push_back({source->name(), source, std::move(*document)});
  return memory::cache_summary(set);
}

}  // namespace modelutils
