#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>

#include "arch/families.h"
#include "arch/names.h"
#include "base/text.h"
#include "edit/block_edits.h"
#include "edit/safetensors/edited_set.h"
#include "edit/safetensors/module_patterns.h"
#include "formats/hf/config.h"
#include "formats/hf/names.h"
#include "json/reader.h"

namespace modelutils::to_safetensors {

namespace {

constexpr std::array config_parents = {"", "text_config/", "thinker_config/", "thinker_config/text_config/"};
// Lists of layer numbers, and counts of layers from the first one on.
constexpr std::array layer_number_lists = {"mlp_only_layers", "full_attn_idxs", "attn_layer_indices",
                                           "moe_layers_indices"};
// Lists with an element per layer whose names do not say "layer".
constexpr std::array layer_lists = {"block_types",     "block_configs",       "activation_sparsity_pattern",
                                    "num_query_heads", "num_kv_heads",        "num_attention_heads",
                                    "ffn_multipliers", "num_key_value_heads", "intermediate_size",
                                    "compress_ratios", "attn_type_list",      "head_dim"};
constexpr std::array first_layer_counts = {"first_k_dense_replace", "max_window_layers", "moe_layer_start_index",
                                           "n_dense_layers", "num_dense_layers"};
// Every which layer is of another kind, unless a list names the kinds.
constexpr std::array layer_periods = {"sliding_window_pattern",
                                      "full_attention_interval",
                                      "decoder_sparse_step",
                                      "interleave_moe_layer_step",
                                      "attn_layer_period",
                                      "expert_layer_period",
                                      "moe_layer_freq",
                                      "no_rope_layer_interval",
                                      "global_attn_every_n_layers",
                                      "mamba_step",
                                      "moe_layer_interval"};

class DirectoryLayerCut {
 public:
  DirectoryLayerCut(EditedSet& set, const StOperation& operation) : set_(set), operation_(operation) {}

  Status cut() {
    const hf::Config* config = set_.model.config();
    family_ = config == nullptr ? nullptr : arch::find_family(*config);
    if (family_ == nullptr || !set_.config) return refuse("needs a directory with the config.json of a known family");
    layers_ = config->block_count.value_or(0);
    MU_ASSIGN(dropped_, edit::parse_number_list(operation_.operand, layers_, "layer", operation_.where()));
    if (dropped_.size() >= layers_) return refuse("no layer would be left");
    if (config->u64_field("num_kv_shared_layers").value_or(0) > 0) {
      return refuse("the last layers reuse the keys and values of earlier ones, found by layer number");
    }
    MU_TRY(check_periods(*config));
    number_layers();
    MU_TRY(cut_tensors());
    cut_config();
    if (set_.quantizer) cut_settings(*set_.quantizer, "quantization");
    if (!unclear_.empty()) {
      return refuse(unclear_ + " selects layers in a way that cannot be renumbered; list its modules by name");
    }
    set_.report.changes.push_back(
        fmt::format("config.json: {} → {}", counted(layers_, "layer"), layers_ - dropped_.size()));
    return {};
  }

 private:
  tl::unexpected<Error> refuse(const std::string& message) const {
    return input_error("edit-layers", fmt::format("{}: {}", operation_.where(), message));
  }
  bool is_dropped(u64 layer) const { return std::ranges::binary_search(dropped_, layer); }
  u64 new_number(u64 layer) const {
    return layer - static_cast<u64>(std::ranges::lower_bound(dropped_, layer) - dropped_.begin());
  }

  // Checks that each layer keeps the kind that follows from its number.
  Status check_periods(const hf::Config& config) const {
    if (config.field("linear_attn_config")) return refuse("the kinds of its layers are listed in linear_attn_config");
    for (const char* const field : layer_periods) {
      const std::string_view pattern = config.string_field(field).value_or("");
      const u64 period = config.u64_field(field).value_or(pattern.size());
      if (period < 2) continue;
      for (u64 layer = 0; layer < layers_; ++layer) {
        if (is_dropped(layer) || layer % period == new_number(layer) % period) continue;
        return refuse(
            fmt::format("{} has the period {}, so layer {} would be of another kind as layer {}; drop whole "
                        "groups of {}",
                        field, period, layer, new_number(layer), period));
      }
    }
    return {};
  }

  // Returns the layer in a name and the position of its number; nullopt outside the language model's layers.
  std::optional<std::pair<u64, std::size_t>> layer_of(std::string_view name) const {
    const std::string canonical = hf::canonical_name(name);
    std::optional<std::pair<u64, std::size_t>> found;
    for_each_name(family_->layer_prefixes, [&](std::string_view prefix) {
      const auto in_layer = found ? std::nullopt : arch::layer_name(canonical, prefix);
      if (!in_layer) return;
      const std::size_t tail = canonical.size() - prefix.size();
      if (tail <= name.size() && name.ends_with(std::string_view(canonical).substr(prefix.size()))) {
        found = std::pair(in_layer->layer, name.size() - tail);
      }
    });
    return found;
  }

  // Returns the name with its new number; nullopt for a dropped layer.
  std::optional<std::string> renumbered(std::string_view name) const {
    const auto in_layer = layer_of(name);
    if (!in_layer) return std::string(name);
    const auto [layer, at] = *in_layer;
    if (is_dropped(layer)) return std::nullopt;
    const std::size_t end = std::min(name.find_first_not_of("0123456789", at), name.size());
    return std::string(name.substr(0, at)) + std::to_string(new_number(layer)) + std::string(name.substr(end));
  }

  // Fills in `numbers_`, which renumbers patterns. The present layers are those that have tensors; they may include
  // blocks after the last layer.
  void number_layers() {
    for_each_name(family_->layer_prefixes, [&](std::string_view prefix) {
      prefix.remove_suffix(1);
      numbers_.words.insert(prefix.substr(prefix.rfind('.') + 1));
    });
    for (const EditedTensor& tensor : set_.tensors) {
      if (const auto in_layer = layer_of(tensor.name)) numbers_.present.insert(in_layer->first);
    }
    numbers_.number = [this](u64 layer) { return is_dropped(layer) ? std::nullopt : std::optional(new_number(layer)); };
  }

  Status cut_tensors() {
    std::vector<bool> gone;
    std::vector<std::string> names;
    for (const EditedTensor& tensor : set_.tensors) {
      std::optional<std::string> name = renumbered(tensor.name);
      gone.push_back(!name);
      if (name) names.push_back(std::move(*name));
    }
    if (std::ranges::find(gone, true) == gone.end()) return refuse("no tensor belongs to these layers");
    drop_tensors(set_, gone);
    rename_tensors(set_, std::move(names));
    return {};
  }

  void cut_config() {
    hf::ConfigEdit& config = *set_.config;
    for (const char* const parent : config_parents) {
      for_each_name(hf::fields::layers, [&](std::string_view field) {
        const std::string path = parent + std::string(field);
        if (config.find(path) == std::to_string(layers_)) config.set(path, std::to_string(layers_ - dropped_.size()));
      });
      for (const char* const field : first_layer_counts) cut_count(parent + std::string(field));
      for (const std::string& name : config.names(std::string_view(parent).substr(0, parent_length(parent)))) {
        cut_list(parent + name, name);
      }
      cut_last(parent + std::string("moe_layer_end_index"));
      cut_pattern(parent + std::string("hybrid_override_pattern"));
      for (const char* const settings : {"quantization", "quantization_config"}) {
        cut_settings(config, parent + std::string(settings));
      }
    }
  }

  static std::size_t parent_length(std::string_view parent) { return parent.empty() ? 0 : parent.size() - 1; }

  std::optional<u64> number_at(const std::string& path) const {
    const auto value = set_.config->find(path);
    const bool is_number =
        value && !value->empty() && value->size() <= 9 && value->find_first_not_of("0123456789") == value->npos;
    return is_number ? std::optional<u64>(std::stoul(std::string(*value))) : std::nullopt;
  }

  void cut_count(const std::string& path) {
    const auto count = number_at(path);
    if (count) set_.config->set(path, std::to_string(new_number(std::min(*count, layers_))));
  }

  // The number of the last layer of a kind.
  void cut_last(const std::string& path) {
    const auto last = number_at(path);
    if (!last) return;
    const u64 end = new_number(std::min(*last + 1, layers_));
    set_.config->set(path, std::to_string(end == 0 ? 0 : end - 1));
  }

  // A string with a letter per layer.
  void cut_pattern(const std::string& path) {
    const auto value = set_.config->find(path);
    if (!value || value->size() != layers_ + 2 || value->front() != '"') return;
    std::string kept = "\"";
    for (u64 layer = 0; layer < layers_; ++layer) {
      if (!is_dropped(layer)) kept += (*value)[static_cast<std::size_t>(layer + 1)];
    }
    set_.config->set(path, kept + "\"");
  }

  // Lists with an element per layer, and lists of layer numbers.
  void cut_list(const std::string& path, const std::string& name) {
    const auto is_in = [&](const auto& names) {
      return std::ranges::any_of(names, [&](std::string_view each) { return each == name; });
    };
    const bool has_numbers = is_in(layer_number_lists);
    const bool is_per_layer = name.find("layer") != name.npos || is_in(layer_lists);
    u64 elements = 0;
    set_.config->edit_list(path, [&](std::size_t, std::string_view json) -> std::optional<std::string> {
      ++elements;
      return std::string(json);
    });
    if (has_numbers) {
      set_.config->edit_list(path, [&](std::size_t, std::string_view json) -> std::optional<std::string> {
        if (json.empty() || json.size() > 9 || json.find_first_not_of("0123456789") != json.npos) {
          return std::string(json);
        }
        const u64 layer = std::stoul(std::string(json));
        return is_dropped(layer) ? std::nullopt : std::optional(std::to_string(new_number(layer)));
      });
    } else if (is_per_layer && elements == layers_) {
      set_.config->edit_list(path, [&](std::size_t index, std::string_view json) -> std::optional<std::string> {
        return is_dropped(index) ? std::nullopt : std::optional(std::string(json));
      });
    }
  }

  // Settings of single modules: "model.layers.3.mlp.down_proj": {…}, and lists of such names and of patterns.
  void cut_settings(hf::ConfigEdit& config, const std::string& path) {
    const auto rename = [&](std::string_view name) -> std::optional<std::string> {
      const std::optional<std::string> after = renumbered(std::string(name) + ".");
      return after ? std::optional(after->substr(0, after->size() - 1)) : std::nullopt;
    };
    config.edit_names(path, rename);
    config.edit_names(path + "/quantized_layers", rename);
    for (const char* const list : module_lists) cut_patterns(config, path + "/" + list);
    for (const std::string& group : config.names(path + "/config_groups")) {
      cut_patterns(config, path + "/config_groups/" + group + "/targets");
    }
    config.edit_names(path + "/dynamic", [&](std::string_view name) -> std::optional<std::string> {
      const std::vector<std::string> after = patterns(std::string(name), path + "/dynamic");
      return after.empty() ? std::nullopt : std::optional(after.front());
    });
  }

  void cut_patterns(hf::ConfigEdit& config, const std::string& path) {
    config.edit_list(path, [&](std::size_t, std::string_view element) -> std::optional<std::string> {
      const auto document = json::parse(std::string(element), path);
      std::string_view pattern;
      if (!document || !(*document)->root.get(pattern)) return std::string(element);
      const std::string before(pattern);
      const std::vector<std::string> after = patterns(before, path);
      if (after == std::vector{before}) return std::string(element);
      std::string texts;
      for (const std::string& each : after) texts += (texts.empty() ? "" : ", ") + hf::json_string(each);
      return texts.empty() ? std::nullopt : std::optional(texts);
    });
  }

  // Keeps the first pattern that cannot be renumbered.
  std::vector<std::string> patterns(const std::string& pattern, const std::string& path) {
    auto after = renumbered_pattern(pattern, numbers_);
    if (after) return std::move(*after);
    if (unclear_.empty()) unclear_ = fmt::format("the pattern '{}' in {}", pattern, path);
    return {pattern};
  }

  EditedSet& set_;
  const StOperation& operation_;
  const arch::Family* family_ = nullptr;
  u64 layers_ = 0;
  std::vector<u64> dropped_;
  LayerNumbers numbers_;
  std::string unclear_;
};

}  // namespace

Status drop_layers(EditedSet& set, const StOperation& operation) {
  return DirectoryLayerCut(set, operation).cut();
}

}  // namespace modelutils::to_safetensors
