#include "model/memory/fit.h"

#include <algorithm>
#include <array>

#include "arch/families/runtime_only.h"
#include "arch/prediction_rows.h"
#include "base/types.h"
#include "formats/gguf/document.h"
#include "model/memory/hyper_parameters.h"
#include "model/memory/model_memory.h"

namespace modelutils::memory {

namespace {

constexpr u64 small_buffers = 65536;
constexpr u64 copied_batch = 32;  // smaller batches are computed where the weights are

u64 most_of(const std::vector<u64>& values) {
  return values.empty() ? 0 : *std::ranges::max_element(values);
}

// The buffers of one graph: masks and inputs, and the largest amount that its parts need at once. Names as in
// docs/memory.md.
struct Graph {
  Amount inputs;  // in host memory if there is a GPU
  Amount peak;    // on the device that computes the layers
  Amount masks;
};

class Estimate {
 public:
  Estimate(const HyperParameters& model, const RunOptions& options, const Extent& extent, const Caches& caches,
           bool is_on_gpu)
      : model_(model),
        options_(options),
        extent_(extent),
        caches_(caches),
        is_on_gpu_(is_on_gpu),
        sequences_(std::max<u64>(1, options.sequences)),
        tokens_(*padded(extent.ubatch, sequences_).value()),
        stream_(Amount(4) * model.embedding * tokens_) {}

  Graph graph() const {
    Graph graph;
    graph.masks = masks();
    const Amount layers = graph.masks + max(max(attention(), feed_forward()), recurrent()) + extras();
    const Amount logits = Amount(4) * extent_.outputs * model_.vocabulary + Amount(3) * stream_;
    graph.peak = max(layers, logits) + small_buffers;
    const u64 copies = (options_.flash_attention ? 2 : 4) + (model_.facts->has_cache ? 0 : 1);
    graph.inputs = graph.masks + Amount(copies) * stream_ + layer_inputs() + small_buffers;
    if (is_linear()) graph.inputs += Amount(4) * squared_tokens() * heads();
    return graph;
  }

  Amount stream() const { return stream_; }

 private:
  using State = arch::Recurrence::State;

  u64 heads() const { return most_of(model_.heads); }
  bool is_linear() const { return model_.facts->recurrence.state == State::linear_attention; }
  Amount squared_tokens() const { return Amount(tokens_) * (tokens_ / sequences_); }

  // Returns the sum, and the maximum, of the largest cell count of each cache kind.
  std::pair<Amount, u64> cells() const {
    if (!model_.facts->has_cache) return {Amount(2) * tokens_, tokens_};
    std::array<u64, 5> most = {};  // the recurrent kind has no mask
    for (const LayerCache& layer : caches_.layers) {
      if (layer.kind == CacheKind::recurrent) continue;
      u64& kind = most[static_cast<std::size_t>(layer.kind)];
      kind = std::max(kind, layer.cells);
    }
    Amount sum;
    for (const u64 kind : most) sum += kind;
    return {sum, std::ranges::max(most)};
  }

  Amount masks() const { return cells().first * tokens_ * (options_.flash_attention ? 2 : 4); }

  Amount queries() const {
    if (model_.is_latent) return Amount(4) * heads() * model_.key_length_latent * tokens_;
    const u64 head = std::max(std::max(model_.key_length, model_.key_length_sliding),
                              std::max(model_.value_length, model_.value_length_sliding));
    return Amount(4) * heads() * head * tokens_ * (model_.facts->has_gated_queries ? 2 : 1);
  }

  // Flash attention on a GPU converts the cache of one layer at a time to F16.
  Amount f16_copies() const {
    if (!options_.flash_attention || !is_on_gpu_) return 0;
    u64 keys = 0, values = 0;
    for (const LayerCache& layer : caches_.layers) {
      if (layer.kind == CacheKind::recurrent) continue;
      keys = std::max(keys, layer.k_bytes);
      values = std::max(values, layer.v_bytes);
    }
    const auto copy = [](TensorType type, u64 bytes) {
      const TypeInfo& info = type_info(type);
      return type == TensorType::F16 ? Amount() : Amount(bytes) * (2 * info.block_elements) / info.block_bytes;
    };
    return copy(options_.k_type, keys) + copy(options_.v_type, values);
  }

  Amount attention() const {
    Amount size = Amount(2) * stream_ + Amount(4) * queries() + f16_copies();
    const u64 head = std::max(model_.key_length, model_.key_length_sliding);
    if (model_.is_latent) size += Amount(8) * heads() * head * tokens_;
    if (!options_.flash_attention) size += Amount(4) * cells().second * tokens_ * heads();
    return size;
  }

  Amount feed_forward() const {
    const u64 dense = most_of(model_.feed_forward);
    const Amount wide = Amount(4) * tokens_ * std::max(dense, model_.shared_width);
    const u64 width = model_.expert_width != 0 ? model_.expert_width : dense;
    const Amount used = Amount(4) * tokens_ * model_.experts_used;
    const Amount experts = used * width;
    Amount largest = max(Amount(3) * wide, Amount(3) * experts);
    if (model_.experts_used > 0) largest = max(largest, Amount(2) * used * model_.embedding + experts);
    return Amount(3) * stream_ + queries() + largest;
  }

  Amount recurrent() const {
    if (model_.state_width == 0) return 0;
    return Amount(2) * stream_ + Amount(32) * model_.state_width * tokens_ +
           Amount(16) * (Amount(model_.rolling) + model_.state) * sequences_;
  }

  Amount layer_inputs() const { return Amount(4) * tokens_ * model_.trunk * model_.layer_input; }

  Amount extras() const {
    Amount more = Amount(4) * layer_inputs();
    if (model_.facts->has_alternating_updates) more += Amount(8) * stream_;
    switch (model_.facts->indexer) {
      case arch::Indexer::none: break;
      case arch::Indexer::every_layer:
      case arch::Indexer::with_keys:
      case arch::Indexer::listed: more += Amount(4) * cells().second * tokens_; break;
      case arch::Indexer::behind_dense:
        more += Amount(12) * cells().second * tokens_ * model_.indexer_heads / extent_.streams;
        break;
      case arch::Indexer::compressed: more += Amount(4) * stream_ * model_.hyper_connections; break;
    }
    if (is_linear()) more += Amount(16) * squared_tokens() * heads();
    if (model_.facts->recurrence.state == State::token_shift) more += Amount(12) * stream_;
    return more;
  }

  const HyperParameters& model_;
  const RunOptions& options_;
  const Extent& extent_;
  const Caches& caches_;
  const bool is_on_gpu_;
  const u64 sequences_;
  const u64 tokens_;     // u in docs/memory.md
  const Amount stream_;  // E in docs/memory.md
};

}  // namespace

u64 scaled_by(u64 bytes, double error) {
  return static_cast<u64>(static_cast<double>(bytes) / error);
}

Result<ComputeSizes> compute_sizes(const HyperParameters& model, const RunOptions& options, const Extent& extent,
                                   const Caches& caches, const WeightTable& table, const Placement& placement,
                                   const WeightSizes& weights) {
  const Estimate estimate(model, options, extent, caches, placement.has_gpu);
  const Graph graph = estimate.graph();
  const Amount cpu = graph.peak + graph.masks + Amount(2) * estimate.stream();
  const bool has_host_blocks = placement.first_gpu_layer(table.blocks()) > 0;
  const bool is_partial = has_host_blocks || weights.largest_host_matrix.value().value_or(1) > 0;
  Amount gpu, host;
  ComputeError of_gpu = gpu_error, of_host = host_error;
  if (!placement.has_gpu) {
    host = cpu;
    of_host = cpu_error;
  } else {
    gpu = graph.peak;
    host = graph.inputs;
    if (is_partial) {
      // Weights in host memory are copied to the GPU for large batches; small ones are computed on the CPU.
      if (extent.ubatch >= copied_batch) gpu += weights.largest_host_matrix;
      of_gpu = partial_error;
    }
    if (has_host_blocks) {
      host = max(host, cpu);
      of_host = mixed_error;
    }
  }
  if (!gpu.value() || !host.value()) {
    return input_error("fit-too-large", "the compute buffers exceed 2^64 bytes");
  }
  ComputeSizes sizes;
  sizes.gpu_bytes = *gpu.value();
  sizes.host_bytes = *host.value();
  sizes.gpu_range = of_gpu;
  sizes.host_range = of_host;
  sizes.gpu_high_bytes = scaled_by(sizes.gpu_bytes, of_gpu.least);
  sizes.low_bytes = scaled_by(sizes.gpu_bytes, of_gpu.most) + scaled_by(sizes.host_bytes, of_host.most);
  sizes.high_bytes = sizes.gpu_high_bytes + scaled_by(sizes.host_bytes, of_host.least);
  return sizes;
}

namespace {

constexpr u64 steps = 1024;  // resolution of fullness

class Split {
 public:
  Split(std::span<const LayerBytes> layers, u64 first, u64 copied, u64 compute, std::span<const u64> rooms)
      : layers_(layers), first_(first), copied_(copied), compute_(compute), rooms_(rooms) {}

  // Lets each GPU in turn take layers until `fullness` steps of its memory are used. Returns an empty list if layers
  // remain.
  std::vector<GpuShare> filled_to(u64 fullness) const {
    std::vector<GpuShare> shares;
    u64 next = first_;
    for (const u64 room : rooms_) {
      // room × fullness / steps without overflow: quotient and remainder are scaled separately.
      const u64 limit = room / steps * fullness + room % steps * fullness / steps;
      GpuShare share{room, next, 0, copied_, 0, compute_};
      while (next < layers_.size()) {
        const std::optional<u64> wanted = checked_add(share.total(), layers_[next].weights + layers_[next].caches);
        if (!wanted || *wanted > limit) break;
        share.weights += layers_[next].weights;
        share.caches += layers_[next].caches;
        ++share.layers;
        ++next;
      }
      if (share.layers == 0) share.weights = share.compute = 0;
      shares.push_back(share);
    }
    if (next < layers_.size()) shares.clear();
    return shares;
  }

 private:
  std::span<const LayerBytes> layers_;
  u64 first_, copied_, compute_;
  std::span<const u64> rooms_;
};

}  // namespace

std::vector<GpuShare> split_layers(std::span<const LayerBytes> layers, u64 first, u64 copied, u64 compute,
                                   std::span<const u64> rooms) {
  const Split split(layers, first, copied, compute, rooms);
  std::vector<GpuShare> best = split.filled_to(steps);
  if (best.empty()) return best;
  u64 too_little = 0, enough = steps;
  while (too_little + 1 < enough) {
    const u64 middle = too_little + (enough - too_little) / 2;
    std::vector<GpuShare> shares = split.filled_to(middle);
    (shares.empty() ? too_little : enough) = middle;
    if (!shares.empty()) best = std::move(shares);
  }
  return best;
}

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

u64 gpu_share_of_mac(u64 bytes) {
  return bytes < (u64{36} << 30) ? bytes / 3 * 2 : bytes / 4 * 3;
}

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

namespace {

// A projector alone: what it adds to its model's memory.
FitReport fit_projector(const gguf::SplitSet& set, const FitRequest& request, const ProjectorMemory& projector) {
  FitReport report;
  report.architecture = gguf::Index(set.files.front().document).architecture();
  report.is_known = false;
  report.is_projector = true;
  report.model_file = projector.path;
  report.request = request;
  report.request.projector = projector;
  const bool on_gpu = whole_model(request.available).has_gpu;
  Usage& usage = report.contexts.emplace_back().usage;
  usage.placement.has_gpu = on_gpu;
  (on_gpu ? usage.gpu_weights : usage.host_weights) = projector.weights;
  (on_gpu ? usage.gpu_total : usage.host_total) = projector.bytes();
  (on_gpu ? usage.compute.gpu_bytes : usage.compute.host_bytes) = projector.compute;
  usage.compute.low_bytes = scaled_by(projector.compute, projector_error.most);
  usage.compute.high_bytes = scaled_by(projector.compute, projector_error.least);
  usage.compute.gpu_high_bytes = on_gpu ? usage.compute.high_bytes : 0;
  return report;
}

}  // namespace

Result<FitReport> fit(const gguf::SplitSet& set, const FitRequest& request) {
  MU_ASSIGN(const std::optional<ProjectorMemory> alone, projector_memory(set));
  if (alone) return fit_projector(set, request, *alone);
  if (arch::is_prediction_alone(set)) {
    return input_error("fit-prediction-alone",
                       "has only multi-token prediction (MTP) blocks: it is not a complete model, and its memory comes "
                       "on top of its model's");
  }
  const bool needs_context = std::ranges::find(request.contexts, 0) != request.contexts.end();
  std::vector<u64> contexts = request.contexts;
  if (contexts.empty()) contexts.push_back(0);
  MU_ASSIGN(ModelMemory model, ModelMemory::load(set, needs_context || request.contexts.empty()));
  if (request.projector) model.add_projector(*request.projector);
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
