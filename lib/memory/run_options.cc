#include "memory/run_options.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>

#include "memory/amount.h"

namespace modelutils::memory {

namespace {

constexpr u64 max_context = std::numeric_limits<u32>::max() - cell_padding;  // n_ctx has 32 bits

}  // namespace

bool is_cache_type(TensorType type) {
  static constexpr std::array types = {TensorType::F32,    TensorType::F16,  TensorType::BF16,
                                       TensorType::Q8_0,   TensorType::Q4_0, TensorType::Q4_1,
                                       TensorType::IQ4_NL, TensorType::Q5_0, TensorType::Q5_1};
  return std::ranges::find(types, type) != types.end();
}

Result<Extent> extent_of(const RunOptions& options, u64 trained, bool is_causal) {
  if (!is_cache_type(options.k_type) || !is_cache_type(options.v_type)) {
    const TensorType wrong = is_cache_type(options.k_type) ? options.v_type : options.k_type;
    return usage_error(fmt::format("a KV cache cannot have the type {}", type_name(wrong)));
  }
  const u64 sequences = std::max<u64>(1, options.sequences);
  if (sequences > max_sequences) {
    return usage_error(fmt::format("--sequences must be 1 to {}, as in llama.cpp, not {}", max_sequences, sequences));
  }
  const u64 context = options.context != 0 ? options.context : trained;
  if (context > max_context) {
    return usage_error(fmt::format("--context must be 1 to {} tokens, as in llama.cpp, not {}", max_context, context));
  }
  if (options.batch == 0) return usage_error("--batch must be at least 1 token");
  Extent extent;
  const u64 batch = is_causal ? std::min(context, options.batch) : options.batch;
  extent.ubatch = std::min(batch, options.ubatch != 0 ? options.ubatch : batch);
  extent.outputs = std::min(extent.ubatch, options.outputs != 0 ? options.outputs : batch);
  const u64 all_cells = *padded(context, cell_padding).value();
  extent.streams = options.unified ? 1 : sequences;
  extent.cells = *padded(all_cells / extent.streams, cell_padding).value();
  extent.n_ctx = extent.cells * extent.streams;
  return extent;
}

}  // namespace modelutils::memory
