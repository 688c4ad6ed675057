// config.json against the shapes of the tensors. Shapes are logical: packed weights are seen unpacked.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/checked_math.h"
#include "hf/architecture.h"
#include "mlx/names.h"
#include "verify/mlx_rule_parts.h"
#include "verify/wording.h"

namespace modelutils::mlx_rules {

namespace {

using hf::Family;

// Layer numbers beyond this are nonsense, whatever the tensors' names say.
constexpr u64 most_layers = 65536;

class Geometry {
 public:
  Geometry(const SafetensorsModel& model, const hf::Architecture& architecture, FindingLog& log)
      : config_(*model.config), architecture_(architecture), log_(log) {
    head_dim_ = config_.head_dim;
    if (!head_dim_ && config_.embedding_length && config_.head_count.value_or(0) != 0 &&
        *config_.embedding_length % *config_.head_count == 0) {
      head_dim_ = *config_.embedding_length / *config_.head_count;
    }
    for (const mlx::Module& module : model.modules.list) {
      // A packed weight that cannot be unpacked is a finding of its own already.
      if (!module.quantized || module.decodable) check_module(module);
      note_layer(module);
    }
  }

  void check_layers() {
    if (layers_.empty()) return;
    const u64 highest = layers_.rbegin()->first;
    if (config_.block_count && *config_.block_count != highest + 1) {
      error("hf-layers", "config.json field 'num_hidden_layers'",
            fmt::format("is {}, the tensors have {}", *config_.block_count, counted(highest + 1, "layer")));
    }
    // Every layer of these architectures has the same modules.
    std::set<std::string_view> all;
    for (const auto& [layer, modules] : layers_) all.insert(modules.begin(), modules.end());
    for (u64 layer = 0; layer <= std::min(highest, most_layers); ++layer) {
      const auto found = layers_.find(layer);
      if (found == layers_.end()) {
        error("hf-tensor-missing", fmt::format("layer {}", layer), "has no tensors at all");
        continue;
      }
      if (found->second.size() == all.size()) continue;
      if (!log_.keeps(Severity::error, "hf-tensor-missing")) {
        log_.count_only(Severity::error, "hf-tensor-missing", all.size() - found->second.size());
        continue;
      }
      for (const std::string_view module : all) {
        if (!found->second.contains(module)) {
          error("hf-tensor-missing", fmt::format("module 'model.layers.{}.{}'", layer, module),
                "is missing, other layers have it");
        }
      }
    }
  }

 private:
  void error(std::string_view code, std::string where, std::string message) {
    remark(log_, Severity::error, code, std::move(where), std::move(message));
  }

  void note_layer(const mlx::Module& module) {
    const std::string name = mlx::canonical_name(module.path);
    if (mlx::classify_name(name) != mlx::NameClass::keep) return;
    const std::optional<u64> layer = mlx::layer_of(name + ".");
    if (!layer || *layer >= most_layers) return;
    // A view of the file's own text: the canonical name is a copy, but what stands behind the number is the same.
    const std::size_t rest = name.size() - name.find('.', std::string_view("model.layers.").size()) - 1;
    const std::string_view role = module.path.substr(module.path.size() - rest);
    auto& roles = layers_[*layer];
    // Qwen's mixtures may have some dense layers (mlp_only_layers).
    const bool may_differ = architecture_.family == Family::qwen2moe || architecture_.family == Family::qwen3moe;
    if (!may_differ || !role.starts_with("mlp.")) roles.insert(role);
  }

  // One dimension of a weight against a number of the config.
  void expect(const mlx::Module& module, std::size_t dim, const std::optional<u64>& wanted, std::string_view code,
              std::string_view meaning) {
    if (!wanted || dim >= module.shape.size() || module.shape[dim] == *wanted) return;
    error(code, fmt::format("tensor '{}.weight'", module.path),
          fmt::format("has shape [{}], config.json gives dimension {} as {} ({})", fmt::join(module.shape, ", "), dim,
                      *wanted, meaning));
  }

  std::optional<u64> head_rows(const std::optional<u64>& heads) const {
    return heads && head_dim_ ? checked_mul(*heads, *head_dim_) : std::nullopt;
  }

  void check_module(const mlx::Module& module) {
    const std::string name = mlx::canonical_name(module.path);
    const std::optional<mlx::GgufTarget> target = mlx::gguf_module(architecture_.family, name);
    if (!target || target->piece != mlx::Piece::whole) return;
    std::string_view role = target->module;
    if (target->layer) role.remove_prefix(role.rfind('.') + 1);
    const std::optional<u64>& width = config_.embedding_length;
    const std::optional<u64> kv_heads = config_.head_count_kv ? config_.head_count_kv : config_.head_count;
    if (role == "token_embd" || role == "output") {
      expect(module, 0, config_.vocab_size, "hf-vocabulary", "vocab_size");
      expect(module, 1, width, "hf-hidden-size", "hidden_size");
    } else if (role == "output_norm" || role == "attn_norm" || role == "ffn_norm") {
      expect(module, 0, width, "hf-hidden-size", "hidden_size");
    } else if (role == "attn_q") {
      expect(module, 0, head_rows(config_.head_count), "hf-heads", "num_attention_heads × head_dim");
      expect(module, 1, width, "hf-hidden-size", "hidden_size");
    } else if (role == "attn_k" || role == "attn_v") {
      expect(module, 0, head_rows(kv_heads), "hf-heads", "num_key_value_heads × head_dim");
      expect(module, 1, width, "hf-hidden-size", "hidden_size");
    } else if (role == "attn_output") {
      expect(module, 0, width, "hf-hidden-size", "hidden_size");
      expect(module, 1, head_rows(config_.head_count), "hf-heads", "num_attention_heads × head_dim");
    } else if (role == "attn_qkv") {
      const auto q = head_rows(config_.head_count);
      const auto k = head_rows(kv_heads);
      const auto both = k ? checked_mul(*k, 2) : std::nullopt;
      expect(module, 0, q && both ? checked_add(*q, *both) : std::nullopt, "hf-heads",
             "(num_attention_heads + 2 × num_key_value_heads) × head_dim");
    } else if (role == "attn_q_norm" || role == "attn_k_norm") {
      expect(module, 0, head_dim_, "hf-heads", "head_dim");
    } else if (role == "ffn_gate" || role == "ffn_up") {
      const bool fused = architecture_.family == Family::phi3;
      const auto& rows = config_.feed_forward_length;
      expect(module, 0, fused && rows ? checked_mul(*rows, 2) : rows, "hf-feed-forward",
             fused ? "2 × intermediate_size" : "intermediate_size");
      expect(module, 1, width, "hf-hidden-size", "hidden_size");
    } else if (role == "ffn_down") {
      expect(module, 0, width, "hf-hidden-size", "hidden_size");
      expect(module, 1, config_.feed_forward_length, "hf-feed-forward", "intermediate_size");
    } else if (role == "ffn_gate_inp") {
      expect(module, 0, config_.expert_count, "hf-experts", "the number of experts");
    } else if (role == "ffn_gate_exps" || role == "ffn_up_exps" || role == "ffn_down_exps") {
      expect(module, 0, config_.expert_count, "hf-experts", "the number of experts");
    }
  }

  const hf::Config& config_;
  const hf::Architecture& architecture_;
  FindingLog& log_;
  std::optional<u64> head_dim_;
  std::map<u64, std::set<std::string_view>> layers_;  // which modules each layer has
};

}  // namespace

void check_geometry(const SafetensorsModel& model, FindingLog& log) {
  const hf::Architecture* architecture = hf::find_architecture(*model.config);
  if (architecture == nullptr || !model.quantization.foreign_method.empty()) return;
  Geometry geometry(model, *architecture, log);
  // A piece of a model (a single layer, an adapter) need not have them all.
  if (is_whole_model(model)) geometry.check_layers();
}

}  // namespace modelutils::mlx_rules
