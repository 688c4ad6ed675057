#include "rules/norm_means.h"

#include <fmt/core.h>

#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arch/family.h"
#include "arch/names.h"
#include "arch/sizes.h"
#include "base/text.h"
#include "formats/gguf/document.h"
#include "formats/hf/names.h"
#include "model/forms/modules.h"

namespace modelutils {

namespace {

// The mean of correctly shifted gains. Training moves gains little, so learnt ones stay near it.
enum class Centre : u8 { zero, one };

// Norm names, given as whole components at the end of a name. The gated norms of linear attention are near 1 in every
// layout and are not listed.
struct Norms {
  std::string_view types;  // model types of directories, architectures of GGUF files
  std::string_view names;
  bool layout_tells;  // MLX's layout adds one
};
constexpr std::array norms_of_directories = {
    Norms{"qwen3_next|qwen3_5|qwen3_5_text|qwen3_5_moe|qwen3_5_moe_text",
          "input_layernorm|post_attention_layernorm|model.norm|mtp.norm|q_norm|k_norm|pre_fc_norm_embedding|"
          "pre_fc_norm_hidden",
          true},
    Norms{"qwen4_exp|qwen4_exp_text",
          "hc_norm|k_layernorm|k_norm|norm_conv|norm_key|norm_query|pre_fc_norm_embedding|pre_fc_norm_hidden|"
          "q_layernorm|q_norm",
          false},
};
constexpr Norms norms_of_gguf = {
    "qwen3next|qwen35|qwen35moe",
    "attn_norm|post_attention_norm|attn_q_norm|attn_k_norm|output_norm|nextn.enorm|nextn.hnorm|nextn.shared_head_norm",
    false};

bool is_one_of(std::string_view names, std::string_view tensor) {
  constexpr std::string_view suffix = ".weight";
  if (!tensor.ends_with(suffix)) return false;
  tensor.remove_suffix(suffix.size());
  bool found = false;
  for_each_name(names, [&](std::string_view name) {
    const bool ends = tensor.ends_with(name);
    found = found || (ends && (tensor.size() == name.size() || tensor[tensor.size() - name.size() - 1] == '.'));
  });
  return found;
}

// The mean over the elements of several norms.
struct Mean {
  double sum = 0;
  u64 elements = 0;
  u64 tensors = 0;
  std::string first;
  std::vector<std::size_t> places = {};

  double value() const { return sum / static_cast<double>(elements); }
};

void add(const Catalog& catalog, const Tensor& tensor, Mean& mean) {
  const u64 elements = tensor.ne.size() == 1 ? tensor.ne.front() : 0;
  if (elements == 0 || !tensor.type || !tensor.is_readable()) return;
  const MatrixValues values = catalog.values_of(tensor);
  if (!values.can_decode()) return;
  std::vector<float> gains(static_cast<std::size_t>(elements));
  if (!values.read_values(0, gains)) return;
  for (const float gain : gains) mean.sum += gain;
  mean.elements += elements;
  mean.places.push_back(static_cast<std::size_t>(&tensor - catalog.tensors.data()));
  if (mean.tensors++ == 0) mean.first = tensor.name;
}

constexpr double half = 0.5;  // halfway between correct gains and gains shifted by one

// Returns what corrects the gains: 1, -1, or 0 if they are correct.
float correction_of(const Mean& mean, Centre centre, bool may_be_unshifted) {
  if (mean.elements == 0) return 0;
  const double right = centre == Centre::one ? 1 : 0;
  if (mean.value() > right + half) return -1;
  return centre == Centre::one && may_be_unshifted && mean.value() < right - half ? 1.0F : 0.0F;
}

void judge(const Mean& mean, Centre centre, bool may_be_unshifted, std::string_view where, FindingLog& log) {
  const float correction = correction_of(mean, centre, may_be_unshifted);
  if (mean.elements == 0) return;
  const double right = centre == Centre::one ? 1 : 0;
  const double found = mean.value();
  const auto say = [&](std::string_view code, std::string_view happened) {
    log.warning(Scope::data, code,
                fmt::format("has gains that {}, with {} like it: their mean is {:.2f}, but should be near {} {}",
                            happened, counted(mean.tensors - 1, "norm"), found, right, where),
                at_tensor(mean.first));
  };
  if (correction < 0) {
    say("data-norms-shifted", "had 1 added once too often");
  } else if (correction > 0) {
    say("data-norms-unshifted", "lack the 1 that should be added");
  }
}

bool is_of_block(const hf::Config& config, std::string_view name) {
  if (name.starts_with("mtp.") || name.find(".mtp.") != std::string_view::npos) return true;
  constexpr std::string_view layers = "model.layers.";
  const std::string canonical = hf::canonical_name(name);
  const std::optional<arch::LayerName> in_layer = arch::layer_name(canonical, layers);
  return in_layer && in_layer->layer >= config.block_count.value_or(arch::max_layers);
}

// Calls visit(norms, centre, may be unshifted, where) for the norms of the layers and those of prediction blocks.
template <typename Visit>
void for_each_group(const SafetensorsModel& model, const Catalog& catalog, const Visit& visit) {
  if (!model.config) return;
  for (const Norms& norms : norms_of_directories) {
    if (!arch::has_name(norms.types, model.config->model_type)) continue;
    const StatedLayout layout = norms.layout_tells ? layout_of_tensors(model) : StatedLayout{};
    if (norms.layout_tells && (!layout.has_any() || layout.is_mixed())) return;
    Mean trunk, blocks;
    for (const Tensor& tensor : catalog.tensors) {
      if (!is_one_of(norms.names, tensor.name)) continue;
      add(catalog, tensor, is_of_block(*model.config, tensor.name) ? blocks : trunk);
    }
    const Centre centre = layout.is_mlx() ? Centre::one : Centre::zero;
    const std::string_view where = !norms.layout_tells ? "for this class"
                                   : layout.is_mlx()   ? "with convolutions in mlx-lm's layout"
                                                       : "with convolutions in the published layout";
    visit(trunk, centre, true, where);
    // mlx-lm drops such blocks; other tools may keep their norms as published (docs/conversion.md).
    visit(blocks, centre, false, where);
  }
}

void check_directory(const SafetensorsModel& model, const Catalog& catalog, FindingLog& log) {
  for_each_group(model, catalog, [&](const Mean& mean, Centre centre, bool may_be_unshifted, std::string_view where) {
    judge(mean, centre, may_be_unshifted, where, log);
  });
}

void check_gguf_file(const gguf::SplitSet& set, const Catalog& catalog, FindingLog& log) {
  if (set.files.empty()) return;
  const gguf::Index index(set.files.front().document);
  if (!arch::has_name(norms_of_gguf.types, index.architecture())) return;
  Mean all;
  for (const Tensor& tensor : catalog.tensors) {
    if (is_one_of(norms_of_gguf.names, tensor.name)) add(catalog, tensor, all);
  }
  judge(all, Centre::one, true, "in a GGUF", log);
}

}  // namespace

std::vector<ShiftedNorms> shifted_norms(const Model& model, const Catalog& catalog) {
  std::vector<ShiftedNorms> groups;
  if (!model.safetensors) return groups;
  for_each_group(*model.safetensors, catalog,
                 [&](const Mean& mean, Centre centre, bool may_be_unshifted, std::string_view) {
                   const float shift = correction_of(mean, centre, may_be_unshifted);
                   if (shift < 0 || shift > 0) groups.push_back({mean.places, mean.value(), shift});
                 });
  return groups;
}

void check_norm_means(const Model& model, const Catalog& catalog, FindingLog& log) {
  if (model.safetensors) check_directory(*model.safetensors, catalog, log);
  if (model.gguf && !catalog.big_endian) check_gguf_file(*model.gguf, catalog, log);
}

}  // namespace modelutils
