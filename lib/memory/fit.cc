#include "memory/fit.h"

#include <algorithm>

#include "arch/families/runtime_only.h"
#include "arch/prediction_block.h"
#include "base/checked_math.h"
#include "gguf/keys.h"
#include "memory/model_memory.h"

namespace modelutils::memory {

namespace {

class Fitter {
 public:
  Fitter(const ModelMemory& model, const FitRequest& request) : model_(model), request_(request) {}

  Result<ContextFit> fit(u64 context) {
    ContextFit result;
    result.run = request_.run;
    result.run.context = context;
    if (model_.is_known()) {
      if (context == 0) result.run.context = *model_.hyper().trained_context;
      MU_ASSIGN(result.extent, model_.extent(result.run));
      MU_ASSIGN(result.caches, caches_of(model_.hyper(), result.run, result.extent));
    }
    const Available& available = request_.available;
    MU_ASSIGN(result.usage, model_.usage(result.run, result.extent, result.caches, whole_model(available)));
    if (!model_.is_known()) return result;
    if (available.is_limited()) {
      result.fits = fits_into(result.usage, available);
      if (!*result.fits) return fit_partly(std::move(result));
    }
    say_how(result);
    return result;
  }

 private:
  void say_how(ContextFit& result) const {
    const Placement& placement = result.usage.placement;
    const bool has_experts = model_.weights().has_experts();
    result.gpu_layers = placement.has_gpu ? std::min(placement.gpu_layers, model_.blocks() + 1) : 0;
    if (has_experts) result.host_expert_blocks = std::min(placement.host_expert_blocks, model_.blocks());
    result.options = options_text(result.run, result.usage, model_.blocks(), has_experts);
    result.fits_at_most = fits_at_most(result.usage, request_.available);
  }

  Result<ContextFit> fit_partly(ContextFit result) const {
    std::optional<Usage> best;
    if (request_.available.gpu) {
      MU_ASSIGN(best, largest_part(model_, result.run, request_.available, true));
    }
    MU_ASSIGN(result.alternatives, find_alternatives(model_, result.run, request_.available));
    if (best) {
      result.usage = *best;
      say_how(result);
    }
    return result;
  }

  const ModelMemory& model_;
  const FitRequest& request_;
};

// Scales `part` of `whole` to another whole. Sizes come from servers and are at most 2^63.
u64 in_proportion(u64 part, u64 whole, u64 other) {
  const long double value =
      static_cast<long double>(part) / static_cast<long double>(whole) * static_cast<long double>(other);
  return static_cast<u64>(std::min(value, 0x1p63L));
}

}  // namespace

std::optional<bool> fits_by_size(const FitReport& judged, u64 judged_bytes, u64 bytes) {
  const std::optional<bool> fits = judged.contexts.front().fits;
  if (!fits || bytes == judged_bytes) return fits;
  if (!*fits) return bytes > judged_bytes ? std::optional<bool>(false) : std::nullopt;
  Usage usage = judged.contexts.front().usage;
  const auto in_other = [&](u64 total, u64 weights) {
    return checked_add(total - weights, in_proportion(weights, judged_bytes, bytes));
  };
  const auto gpu = in_other(usage.gpu_total, usage.gpu_weights);
  const auto host = in_other(usage.host_total, usage.host_weights);
  // Compare with the total memory of several GPUs.
  Available available = judged.request.available;
  const auto margin = checked_mul(available.margin, std::max<u64>(available.gpus.size(), 1));
  if (!gpu || !host || !margin) return false;
  usage.gpu_total = *gpu;
  usage.host_total = *host;
  available.margin = *margin;
  usage.placement.rooms.clear();
  usage.gpus.clear();
  return fits_into(usage, available);
}

Result<FitReport> fit(const gguf::SplitSet& set, const FitRequest& request) {
  if (arch::is_prediction_alone(set)) {
    return input_error("fit-prediction-alone",
                       "has only multi-token prediction (MTP) blocks: it is not a complete model, and its memory comes "
                       "on top of its model's");
  }
  const bool needs_context = std::ranges::find(request.contexts, 0) != request.contexts.end();
  std::vector<u64> contexts = request.contexts;
  if (contexts.empty()) contexts.push_back(0);
  MU_ASSIGN(const ModelMemory model, ModelMemory::load(set, needs_context || request.contexts.empty()));
  FitReport report;
  report.architecture = gguf::Index(set.files.front().document).architecture();
  report.is_known = model.is_known();
  report.blocks = model.blocks();
  report.has_experts = model.weights().has_experts();
  report.is_draft = arch::is_prediction_alone(set) || arch::is_draft_architecture(report.architecture);
  report.has_encoder = model.is_known() && model.hyper().facts->has_encoder;
  if (model.is_known()) report.trained_context = model.hyper().trained_context;
  report.unknown_sizes = model.weights().unknown_sizes();
  report.part = gguf::lone_part(set);
  report.model_file = set.files.front().path;
  report.request = request;
  Fitter fitter(model, request);
  for (const u64 context : contexts) {
    MU_ASSIGN(ContextFit result, fitter.fit(context));
    report.contexts.push_back(std::move(result));
  }
  return report;
}

}  // namespace modelutils::memory
