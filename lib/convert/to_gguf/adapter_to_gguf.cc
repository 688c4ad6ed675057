#include "convert/to_gguf/adapter_to_gguf.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "arch/facts.h"
#include "arch/families.h"
#include "arch/geometry.h"
#include "arch/loader_forms.h"
#include "base/types.h"
#include "convert/to_gguf/plan.h"
#include "convert/transfer/report.h"
#include "formats/gguf/split_set.h"
#include "formats/gguf/write.h"
#include "formats/hf/config.h"
#include "formats/safetensors/shard_set.h"
#include "io/atomic_output.h"
#include "io/output_place.h"
#include "model/adapter/task_adapter.h"
#include "model/model.h"
#include "rules/gguf/rules.h"
#include "rules/safetensors/rules.h"
#include "tensor/narrow.h"
#include "tensor/types.h"
#include "tensor/value_sums.h"

namespace modelutils::to_gguf {

namespace {

constexpr u64 file_alignment = 32;

tl::unexpected<Error> unknown_base(const std::string& path) {
  return input_error("convert-architecture", "is a base with an unsupported architecture", {}, {}, path);
}

void find_scaled(const std::map<std::string_view, TensorType>& types, adapter::Base& base) {
  const arch::Names names(*base.family);
  for (const auto& [name, type] : types) {
    const auto weight = arch::weight_of_scale(names, name);
    const auto found = weight ? types.find(*weight) : types.end();
    if (found != types.end()) base.scaled.emplace(*weight, found->second);
  }
}

Result<adapter::Base> base_of_gguf(const std::string& path) {
  MU_ASSIGN(const gguf::SplitSet set, gguf::open_set(path));
  const Findings findings = gguf_container_findings(set);
  if (const Finding* broken = first_error(findings)) return tl::make_unexpected(with_path(*broken, path));
  const gguf::Index keys(set.files.front().document);
  adapter::Base base;
  base.family = arch::find_family(keys);
  if (base.family == nullptr) return unknown_base(path);
  auto sizes = arch::read_gguf_sizes(*base.family, keys, set.files.front());
  if (!sizes) return tl::make_unexpected(in_file(std::move(sizes.error()), path));
  base.sizes = std::move(*sizes);
  arch::leave_out_prediction(*base.family, keys, base.sizes);
  std::unordered_map<std::string_view, u64> rows;
  std::map<std::string_view, TensorType> types;
  for (const gguf::SetFile& file : set.files) {
    for (const gguf::TensorInfo& tensor : file.document.tensors) {
      rows.emplace(tensor.name, tensor.ne.size() > 1 ? tensor.ne[1] : 1);
      if (const auto type = tensor.type()) types.emplace(tensor.name, *type);
    }
  }
  const auto rows_of = [&](std::string_view name) {
    const auto found = rows.find(name);
    return found == rows.end() ? std::nullopt : std::optional(found->second);
  };
  arch::set_marks(*base.family, base.sizes, rows_of);
  base.is_tied = !rows_of("output.weight");
  find_scaled(types, base);
  return base;
}

// Describes the base from its config.json alone, for a directory without weights.
Result<adapter::Base> base_of_config(const std::string& path) {
  MU_ASSIGN(const std::optional<hf::Config> config, hf::load_config(ModelFolder(path)));
  if (!config) return unknown_base(path);
  adapter::Base base;
  base.family = arch::find_family(*config);
  if (base.family == nullptr) return unknown_base(path);
  if (!std::ranges::all_of(base.family->marks, &arch::Mark::in_gguf_only)) {
    return input_error("adapter-no-base",
                       fmt::format("does not determine which layers of a {} have which tensors; --base must be a "
                                   "directory with weights, or a GGUF",
                                   base.family->name),
                       {}, {}, path);
  }
  arch::Sizes known;
  known.set("mlx", 0);
  known.set("hf", 1);
  known.set("back", 0);
  known.set("traditional", config->bool_field("rope_traditional").value_or(false) ? 1 : 0);
  const arch::Sizes stated = arch::stated_sizes(*base.family, *config);
  const u64 layers = stated.get(arch::symbol::layers);
  // Without tensors, the stated expert count is the only sign that the model has experts.
  if (const u64 experts = stated.get(arch::symbol::experts)) known.set(arch::symbol::experts, experts);
  MU_ASSIGN(base.sizes, arch::solve_sizes(*base.family, *config, layers, {}, std::move(known)));
  base.is_tied = config->tie_word_embeddings.value_or(base.family->tied_by_default);
  return base;
}

Result<adapter::Base> base_of_directory(const std::string& path) {
  const ModelFolder folder(path);
  if (!safetensors::is_model_folder(path) && is_present(folder.file("config.json"))) return base_of_config(path);
  MU_ASSIGN(const GgufPlan plan, plan_without_vocabulary(path));
  adapter::Base base;
  base.family = plan.model->family;
  base.sizes = plan.map.sizes;
  // Assumes default conversion options. If the base GGUF was made with others, pass that GGUF as the base.
  const Catalog& target = plan.target.catalog();
  base.is_tied = target.find("output.weight") == nullptr;
  std::map<std::string_view, TensorType> types;
  for (const Tensor& tensor : target.tensors) types.emplace(tensor.name, *tensor.type);
  find_scaled(types, base);
  return base;
}

// One output tensor: half of a pair.
struct OutHalf {
  std::size_t pair = 0;
  bool is_a = false;
};

class Converter {
 public:
  explicit Converter(const AdapterToGgufOptions& options) : options_(options) {}

  Result<TransferReport> run(Progress& progress) {
    MU_TRY(plan());
    if (options_.dry_run) return std::move(report_);
    MU_TRY(check_free_space(options_.output, layout_.file_size));
    MU_ASSIGN(AtomicOutput output, AtomicOutput::create(options_.output, {options_.force, {adapter_.weights}, true}));
    progress.restart("writing", layout_.file_size);
    MU_TRY(write(output, progress));
    progress.finish();
    if (options_.deliver) MU_TRY(options_.deliver(report_));
    MU_TRY(output.commit());
    return std::move(report_);
  }

 private:
  Status plan() {
    const std::string& base_path = options_.base.empty() && !options_.task.empty() ? options_.directory : options_.base;
    if (base_path.empty()) {
      return input_error("adapter-no-base",
                         "is an adapter, and its base determines tensor names and row order: pass it with --base (a "
                         "model's directory, where config.json is enough, or a GGUF)",
                         {}, {}, options_.directory);
    }
    MU_ASSIGN(adapter_, options_.task.empty() ? open_adapter(options_.directory) : open_task());
    for (const adapter::Extra& extra : adapter_.extras) {
      const bool is_dora = extra.kind == adapter::Extra::Kind::magnitude;
      return input_error("adapter-merge",
                         is_dora ? "is the magnitude of a DoRA adapter, which a GGUF adapter cannot hold; merge it "
                                   "(mlx2gguf BASE --lora ADAPTER)"
                                 : "replaces a tensor of the base, which a GGUF adapter cannot do; merge it (mlx2gguf "
                                   "BASE --lora ADAPTER)",
                         at_tensor(extra.values.name), {}, options_.directory);
    }
    MU_ASSIGN(const adapter::Base base, read_base(base_path));
    MU_ASSIGN(adapter::MappedAdapter mapped, adapter::map_pairs(adapter_, base, false));
    pairs_ = std::move(mapped.pairs);
    MU_TRY(adapter::check_scaled(adapter_, base, pairs_));
    choose_alpha();
    report_.input = options_.directory;
    report_.architecture = base.family->gguf;
    report_.name = options_.name.value_or("");
    report_.dry_run = options_.dry_run;
    return lay_out(base);
  }

  Result<adapter::Adapter> open_task() const {
    MU_ASSIGN(const Model model, open_sound_model(options_.directory));
    const arch::Family* family = model.config() == nullptr ? nullptr : arch::find_family(*model.config());
    if (family == nullptr || !model.safetensors) return unknown_base(options_.directory);
    return adapter::read_task(*model.safetensors, arch::Names(*family), options_.task);
  }

  // llama.cpp multiplies each pair by alpha / rank, with one alpha for the whole file, so choose the alpha that suits
  // most blocks, and multiply the remaining factor of the others into B. llama.cpp treats alpha 0 as 1.
  void choose_alpha() {
    std::map<float, u64> votes;
    for (const adapter::Pair& pair : pairs_) {
      for (const adapter::Block& block : pair.blocks) ++votes[wanted_alpha(pair, block)];
    }
    const auto most = std::ranges::max_element(votes, {}, [](const auto& vote) { return vote.second; });
    alpha_ = most == votes.end() || most->first == 0 ? 1 : most->first;
    for (const adapter::Pair& pair : pairs_) {
      std::vector<double> scales;
      for (const adapter::Block& block : pair.blocks) {
        const double factor = static_cast<double>(pair.uses[block.use].factor);
        const bool is_said = wanted_alpha(pair, block) == alpha_ && factor == 1;
        scales.push_back(
            is_said ? 1 : adapter_.modules[block.module].scale * static_cast<double>(pair.rank) * factor / alpha_);
      }
      scales_.push_back(std::move(scales));
    }
  }

  float wanted_alpha(const adapter::Pair& pair, const adapter::Block& block) const {
    return static_cast<float>(adapter_.modules[block.module].scale * static_cast<double>(pair.rank));
  }

  // F16 if the whole pair is stored as F16 and unscaled, otherwise F32.
  TensorType type_of(std::size_t number) const {
    if (options_.type) return *options_.type;
    const adapter::Pair& pair = pairs_[number];
    const TensorType first = adapter_.modules[pair.blocks.front().module].a.type;
    // llama.cpp rounds the products of BF16 factors to BF16, so widen those to F32; F16 factors lose nothing that
    // matters.
    const bool is_half = first == TensorType::F16;
    for (std::size_t i = 0; i < pair.blocks.size(); ++i) {
      const adapter::Module& module = adapter_.modules[pair.blocks[i].module];
      if (!is_half || module.a.type != first || module.b.type != first || scales_[number][i] != 1) {
        return TensorType::F32;
      }
    }
    return first;
  }

  Status lay_out(const adapter::Base& base) {
    std::vector<gguf::OutKey> keys = {gguf::make_key_string("general.architecture", base.family->gguf),
                                      gguf::make_key_string("general.type", "adapter"),
                                      gguf::make_key_string("adapter.type", "lora"),
                                      gguf::make_key_f32("adapter.lora.alpha", alpha_)};
    if (options_.name) keys.push_back(gguf::make_key_string("general.name", *options_.name));
    if (!adapter_.base_model.empty()) {
      keys.push_back(gguf::make_key("general.base_model.count", 1));
      keys.push_back(gguf::make_key_string("general.base_model.0.name", adapter_.base_model));
    }
    if (!adapter_.task.empty()) keys.push_back(gguf::make_key_string("adapter.lora.task_name", adapter_.task));
    if (!adapter_.prompt_prefix.empty()) {
      keys.push_back(gguf::make_key_string("adapter.lora.prompt_prefix", adapter_.prompt_prefix));
    }
    if (!adapter_.invocation_tokens.empty()) {
      keys.push_back(gguf::make_key_u32s("adapter.alora.invocation_tokens", adapter_.invocation_tokens));
    }
    std::vector<gguf::OutTensor> tensors;
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      const adapter::Pair& pair = pairs_[i];
      for (const bool is_a : {true, false}) {
        gguf::OutTensor tensor;
        tensor.name = pair.name + (is_a ? ".lora_a" : ".lora_b");
        tensor.type = type_of(i);
        const bool has_exchanged = pair.is_embedding();
        if (is_a) {
          tensor.ne =
              has_exchanged ? std::vector<u64>{pair.rank, pair.rows()} : std::vector<u64>{pair.columns(), pair.rank};
        } else {
          tensor.ne = {pair.rank, has_exchanged ? pair.columns() : pair.rows()};
        }
        if (pair.ne.size() > 2) tensor.ne.push_back(pair.slices());
        halves_.push_back({i, is_a});
        tensors.push_back(std::move(tensor));
      }
    }
    MU_ASSIGN(layout_, gguf::layout(keys, tensors, file_alignment));
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const adapter::Pair& pair = pairs_[halves_[i].pair];
      const adapter::Module& module = adapter_.modules[pair.blocks.front().module];
      const adapter::Factor& factor = halves_[i].is_a ? module.a : module.b;
      report_.tensors.push_back({tensors[i].name,
                                 factor.name,
                                 std::string(type_name(factor.type)),
                                 std::string(type_name(tensors[i].type)),
                                 tensors[i].ne,
                                 layout_.bytes[i],
                                 std::nullopt,
                                 {},
                                 {},
                                 {}});
    }
    report_.files.push_back({options_.output, layout_.file_size, tensors.size()});
    return {};
  }

  Status write(AtomicOutput& output, Progress& progress) {
    MU_TRY(output.append(std::as_bytes(std::span(layout_.header))));
    adapter::PairValues values;
    std::vector<std::byte> bytes;
    for (std::size_t i = 0; i < halves_.size(); ++i) {
      const adapter::Pair& pair = pairs_[halves_[i].pair];
      if (halves_[i].is_a) {
        MU_ASSIGN(values, adapter::read_pair(adapter_, pair, scales_[halves_[i].pair]));
        if (pair.is_embedding()) exchange(pair, values);
      }
      const std::vector<float>& half = halves_[i].is_a ? values.a : values.b;
      const TensorType type = *type_from_name(report_.tensors[i].form);
      bytes.assign(static_cast<std::size_t>(layout_.bytes[i]), std::byte{});
      narrow(type, half, bytes.data());
      MU_TRY(measure_loss(i, type, half));
      const u64 end = i + 1 < halves_.size() ? layout_.offsets[i + 1] : layout_.file_size;
      bytes.resize(static_cast<std::size_t>(end - layout_.offsets[i]));
      MU_TRY(output.append(bytes));
      progress.advance(bytes.size());
    }
    return {};
  }

  Status measure_loss(std::size_t i, TensorType type, const std::vector<float>& exact) {
    TensorReport& report = report_.tensors[i];
    std::vector<float> carried = exact;
    round_to(type, carried);
    if (!narrow_facts(carried).finite) {
      return input_error(
          "adapter-not-finite",
          fmt::format("has a value that {} cannot hold, once multiplied by the adapter's scale", report.form),
          at_tensor(report.name), {}, options_.directory);
    }
    ValueSums error;
    measure(exact, carried, error);
    MU_ASSIGN(const bool fits_float, fits_float_exactly(pairs_[halves_[i].pair]));
    report.exact = error.dd == 0 && fits_float;
    if (error.dd != 0) {
      report.rms = error.rms();
      report.max_abs = error.max_abs;
    }
    if (*report.exact || !options_.exact) return {};
    return input_error("convert-inexact", fmt::format("is not exact in {}", report.form), at_tensor(report.name), {},
                       options_.directory);
  }

  // True if all factors were read as float32 without rounding.
  Result<bool> fits_float_exactly(const adapter::Pair& pair) const {
    for (const adapter::Block& block : pair.blocks) {
      const adapter::Module& module = adapter_.modules[block.module];
      MU_ASSIGN(const bool fits_a, adapter_.fits_float(module.a));
      MU_ASSIGN(const bool fits_b, adapter_.fits_float(module.b));
      if (!fits_a || !fits_b) return false;
    }
    return true;
  }

  // For an embedding, llama.cpp expects lora_a [vocabulary, r] and lora_b [width, r], so swap A and B.
  static void exchange(const adapter::Pair& pair, adapter::PairValues& values) {
    std::vector<float> b(values.a.size());
    for (u64 k = 0; k < pair.rank; ++k) {
      for (u64 j = 0; j < pair.columns(); ++j) b[j * pair.rank + k] = values.a[k * pair.columns() + j];
    }
    values.a = std::move(values.b);
    values.b = std::move(b);
  }

  const AdapterToGgufOptions& options_;
  adapter::Adapter adapter_;
  std::vector<adapter::Pair> pairs_;
  std::vector<std::vector<double>> scales_;  // for each pair, one scale per block
  float alpha_ = 1;
  std::vector<OutHalf> halves_;
  gguf::OutLayout layout_;
  TransferReport report_;
};

}  // namespace

Result<adapter::Base> read_base(const std::string& path) {
  MU_ASSIGN(const PathProbe probe, probe_path(path));
  return probe.is_directory ? base_of_directory(path) : base_of_gguf(path);
}

Result<TransferReport> adapter_to_gguf(const AdapterToGgufOptions& options, Progress& progress) {
  return Converter(options).run(progress);
}

}  // namespace modelutils::to_gguf
