#include <fmt/core.h>

#include <algorithm>

#include "base/counted.h"
#include "memory/model_memory.h"

namespace modelutils::memory {

namespace {

constexpr u64 least_context = 4096;  // as llama.cpp's own --fit has it
constexpr u64 context_step = 1024;

class Search {
 public:
  Search(const ModelMemory& model, const Available& available) : model_(model), available_(available) {
    placement_.has_gpu = available.gpu || available.unified;
  }

  // The whole model with these options, if it fits.
  Result<std::optional<Usage>> whole(const RunOptions& run) const {
    MU_ASSIGN(const Extent extent, model_.extent(run));
    MU_ASSIGN(const Caches caches, caches_of(model_.hyper(), run, extent));
    MU_ASSIGN(Usage usage, model_.usage(run, extent, caches, placement_));
    return fits_into(usage, available_) ? std::optional<Usage>(usage) : std::nullopt;
  }

  // The longest context that fits; 0 if not even the least does.
  Result<u64> longest(RunOptions run) const {
    u64 fitting = 0, too_long = run.context / context_step + 1;
    run.context = least_context;
    if (too_long <= least_context / context_step) return u64{0};
    MU_ASSIGN(const std::optional<Usage> least, whole(run));
    if (!least) return u64{0};
    fitting = least_context / context_step;
    while (fitting + 1 < too_long) {
      const u64 middle = fitting + (too_long - fitting) / 2;
      run.context = middle * context_step;
      MU_ASSIGN(const std::optional<Usage> usage, whole(run));
      (usage ? fitting : too_long) = middle;
    }
    return fitting * context_step;
  }

  std::string options(const RunOptions& run) const {
    return options_text(run, placement_, model_.blocks(), model_.weights().has_experts());
  }

 private:
  const ModelMemory& model_;
  const Available& available_;
  Placement placement_;
};

// Can the cache have blocks of 8 bits? Types that are small already, and rows that do not fill blocks, stay.
std::optional<RunOptions> with_smaller_cache(const ModelMemory& model, RunOptions run) {
  const auto bits = [](TensorType type) { return 8.0 * type_info(type).block_bytes / type_info(type).block_elements; };
  const bool is_wide = bits(run.k_type) > bits(TensorType::Q8_0) || bits(run.v_type) > bits(TensorType::Q8_0);
  if (!run.flash_attention || !is_wide) return std::nullopt;
  run.k_type = run.v_type = TensorType::Q8_0;
  const Result<Extent> extent = model.extent(run);
  if (!extent || !caches_of(model.hyper(), run, *extent)) return std::nullopt;
  return run;
}

}  // namespace

Result<std::vector<Alternative>> find_alternatives(const ModelMemory& model, const RunOptions& run,
                                                   const Available& available, const std::optional<Usage>& best) {
  std::vector<Alternative> found;
  const Search search(model, available);
  const auto add_shorter = [&](RunOptions shorter, std::string_view costs) -> Status {
    MU_ASSIGN(const u64 context, search.longest(shorter));
    if (context == 0) return {};
    shorter.context = context;
    MU_ASSIGN(const std::optional<Usage> usage, search.whole(shorter));
    if (usage)
      found.push_back({search.options(shorter), fmt::format("{} tokens{}", thousands(context), costs), *usage});
    return {};
  };
  bool is_solved = false;
  const std::optional<RunOptions> small = with_smaller_cache(model, run);
  if (small) {
    MU_ASSIGN(const std::optional<Usage> usage, search.whole(*small));
    is_solved = usage.has_value();
    if (usage) found.push_back({search.options(*small), "cache of 8 bits", *usage});
  }
  MU_TRY(add_shorter(run, ""));
  if (small && !is_solved) MU_TRY(add_shorter(*small, ", cache of 8 bits"));
  if (best) {
    const bool moves_experts = best->placement.host_expert_blocks > 0;
    found.push_back({options_text(run, best->placement, model.blocks(), model.weights().has_experts()),
                     moves_experts ? "experts in host memory: slower" : "layers in host memory: slower", *best});
  }
  return found;
}

}  // namespace modelutils::memory
