#include "memory/cache_summary.h"

#include "memory/amount.h"
#include "memory/cache.h"

namespace modelutils::memory {

std::optional<CacheSummary> cache_summary(const arch::Facts& stated) {
  constexpr u64 long_context = u64{1} << 20;  // longer than any window
  const auto hyper = read_hyper_parameters(stated, false);
  if (!hyper || !*hyper || !(*hyper)->facts->has_cache) return std::nullopt;
  RunOptions run;
  run.context = long_context;
  const Result<Extent> extent = extent_of(run, 0, true);
  if (!extent) return std::nullopt;
  const Result<Caches> caches = caches_of(**hyper, run, *extent);
  if (!caches) return std::nullopt;
  CacheSummary summary;
  Amount bytes;
  for (const LayerCache& layer : caches->layers) {
    const Amount both = Amount(layer.k_bytes) + layer.v_bytes;
    if (layer.kind == CacheKind::recurrent) continue;
    if (layer.kind == CacheKind::full || layer.kind == CacheKind::sliding) ++summary.cached_layers;
    if (layer.kind == CacheKind::sliding) ++summary.sliding_layers;
    if (layer.kind != CacheKind::sliding) bytes += both;
  }
  summary.bytes_per_token = bytes.value().value_or(0) / long_context;
  summary.window = summary.sliding_layers > 0 ? (*hyper)->window : 0;
  summary.state_bytes = caches->recurrent_bytes();
  return summary;
}

}  // namespace modelutils::memory
