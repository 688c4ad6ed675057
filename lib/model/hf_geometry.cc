#include "model/hf_geometry.h"

#include <fmt/format.h>

namespace modelutils {

namespace {

constexpr u64 max_layers = 512;  // the loader's limits
constexpr u64 max_experts = 512;

class Geometry {
 public:
  Geometry(const HfModel& model, const ShapeOf& shape_of) : model_(model), shape_of_(shape_of) {}

  Result<HyperParameters> derive(u64 n_layer) {
    p_.n_layer = n_layer;
    MU_TRY(check("num_hidden_layers", model_.config.block_count, n_layer));
    if (n_layer == 0 || n_layer > max_layers) {
      return contradiction("num_hidden_layers",
                           fmt::format("the tensors make {} layers, 1 to {} are possible", n_layer, max_layers));
    }
    MU_ASSIGN(const std::vector<u64> embedding, matrix("token_embd.weight"));
    p_.n_vocab = embedding[0];
    p_.n_embd = embedding[1];
    MU_TRY(check("hidden_size", model_.config.embedding_length, p_.n_embd));
    MU_TRY(check("vocab_size", model_.config.vocab_size, p_.n_vocab));
    MU_TRY(attention());
    MU_TRY(feed_forward());
    p_.n_rot = p_.head_dim;
    if (model_.architecture->fused) {
      p_.n_rot = static_cast<u64>(model_.config.partial_rotary_factor.value_or(1.0) * static_cast<double>(p_.n_embd)) /
                 p_.n_head;
    }
    return p_;
  }

 private:
  tl::unexpected<Error> contradiction(std::string_view field, std::string message) const {
    return input_error("convert-config", std::move(message), std::string(field), {}, model_.config.path);
  }

  Status check(std::string_view field, std::optional<u64> stated, u64 found) const {
    if (!stated || *stated == found) return {};
    return contradiction(field, fmt::format("is {}, but the tensors say {}", *stated, found));
  }

  Result<std::vector<u64>> matrix(std::string_view name) const {
    const std::vector<u64>* shape = shape_of_(name);
    if (shape == nullptr) {
      return input_error("convert-missing", "has no source in the directory", fmt::format("tensor '{}'", name), {},
                         model_.directory);
    }
    if (shape->size() != 2) {
      return input_error("convert-shape", fmt::format("has {} dimensions, 2 are needed", shape->size()),
                         fmt::format("source of '{}'", name), {}, model_.directory);
    }
    return *shape;
  }

  // head_dim: the length of a q_norm knows it; config.json may state it; otherwise n_embd / n_head.
  Status head_dim() {
    const hf::Config& config = model_.config;
    if (const std::vector<u64>* norm = shape_of_("blk.0.attn_q_norm.weight"); norm != nullptr && norm->size() == 1) {
      p_.head_dim = norm->front();
      return check("head_dim", config.head_dim, p_.head_dim);
    }
    if (config.head_dim) {
      p_.head_dim = *config.head_dim;
    } else if (model_.hf_architecture->norm_plus_one) {
      p_.head_dim = 256;  // Gemma's class default
    } else if (config.head_count && *config.head_count > 0) {
      if (p_.n_embd % *config.head_count != 0) {
        return contradiction("num_attention_heads",
                             fmt::format("is {}, which does not divide {}", *config.head_count, p_.n_embd));
      }
      p_.head_dim = p_.n_embd / *config.head_count;
    }
    if (p_.head_dim == 0)
      return contradiction("num_attention_heads", "is missing, and nothing else tells the head size");
    return {};
  }

  Status attention() {
    const hf::Config& config = model_.config;
    MU_TRY(head_dim());
    const u64 d = p_.head_dim;
    if (model_.architecture->fused) {
      if (!config.head_count || *config.head_count == 0) return contradiction("num_attention_heads", "is missing or 0");
      p_.n_head = *config.head_count;
      p_.n_head_kv = config.head_count_kv.value_or(p_.n_head);
      return {};
    }
    MU_ASSIGN(const std::vector<u64> q, matrix("blk.0.attn_q.weight"));
    MU_ASSIGN(const std::vector<u64> k, matrix("blk.0.attn_k.weight"));
    if (q[0] % d != 0 || k[0] % d != 0) {
      return contradiction("head_dim",
                           fmt::format("is {}, which divides neither {} query nor {} key rows evenly", d, q[0], k[0]));
    }
    p_.n_head = q[0] / d;
    p_.n_head_kv = k[0] / d;
    MU_TRY(check("num_attention_heads", config.head_count, p_.n_head));
    MU_TRY(check("num_key_value_heads", config.head_count_kv, p_.n_head_kv));
    if (p_.n_head_kv == 0 || p_.n_head % p_.n_head_kv != 0) {
      return contradiction("num_key_value_heads",
                           fmt::format("{} query heads cannot share {} key/value heads", p_.n_head, p_.n_head_kv));
    }
    if (!model_.architecture->head_dim_is_free && d * p_.n_head != p_.n_embd) {
      return contradiction("head_dim", fmt::format("is {}; every runtime of {} takes hidden_size / heads = {}", d,
                                                   model_.architecture->name, p_.n_embd / p_.n_head));
    }
    if (model_.hf_architecture->permutes_qk && d % 2 != 0) return contradiction("head_dim", "is odd");
    return {};
  }

  Status feed_forward() {
    const hf::Config& config = model_.config;
    const std::vector<u64>* stack = shape_of_("blk.0.ffn_down_exps.weight");
    if (stack == nullptr) {
      if (model_.architecture->experts == Presence::required) {
        return input_error("convert-missing", "has no source in the directory", "tensor 'blk.0.ffn_down_exps.weight'",
                           {}, model_.directory);
      }
      if (model_.architecture->fused) {
        MU_ASSIGN(const std::vector<u64> down, matrix("blk.0.ffn_down.weight"));
        p_.n_ff = down[1];
      } else {
        MU_ASSIGN(const std::vector<u64> gate, matrix("blk.0.ffn_gate.weight"));
        p_.n_ff = gate[0];
      }
      return check("intermediate_size", config.feed_forward_length, p_.n_ff);
    }
    if (stack->size() != 3) {
      return input_error("convert-shape", fmt::format("has {} dimensions, 3 are needed", stack->size()),
                         "source of 'blk.0.ffn_down_exps.weight'", {}, model_.directory);
    }
    p_.n_expert = (*stack)[0];
    p_.n_ff_expert = (*stack)[2];
    MU_TRY(check("num_experts", config.expert_count, p_.n_expert));
    p_.n_expert_used = config.expert_used_count.value_or(0);
    if (p_.n_expert > max_experts || p_.n_expert_used == 0 || p_.n_expert_used > p_.n_expert) {
      return contradiction("num_experts_per_tok",
                           fmt::format("is {} of {} experts; the loader takes 1 to all of at most {}", p_.n_expert_used,
                                       p_.n_expert, max_experts));
    }
    if (model_.architecture->experts == Presence::required) {
      MU_TRY(check("moe_intermediate_size", config.expert_feed_forward_length, p_.n_ff_expert));
      p_.n_ff = config.feed_forward_length.value_or(p_.n_ff_expert * p_.n_expert_used);
    } else {
      p_.n_ff = p_.n_ff_expert;
      MU_TRY(check("intermediate_size", config.feed_forward_length, p_.n_ff));
    }
    if (model_.architecture->has_shared_expert) {
      MU_ASSIGN(const std::vector<u64> shared, matrix("blk.0.ffn_gate_shexp.weight"));
      p_.n_ff_shared = shared[0];
      MU_TRY(check("shared_expert_intermediate_size", config.expert_shared_feed_forward_length, p_.n_ff_shared));
    }
    return {};
  }

  const HfModel& model_;
  const ShapeOf& shape_of_;
  HyperParameters p_;
};

}  // namespace

Result<HyperParameters> hf_geometry(const HfModel& model, u64 n_layer, const ShapeOf& shape_of) {
  return Geometry(model, shape_of).derive(n_layer);
}

}  // namespace modelutils
