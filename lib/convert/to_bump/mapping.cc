#include "convert/to_bump/mapping.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "arch/families.h"
#include "base/types.h"
#include "convert/to_bump/source.h"
#include "io/copy_range.h"
#include "json/writer.h"

namespace modelutils {

namespace {

using bump::Dimensions;
using bump::Dtype;
using bump::Role;
using bump::RoleInfo;

class EntryMapper {
 public:
  EntryMapper(const gguf::SplitSet& set, const BumpRequest& request) : set_(set), request_(request) {}

  Result<BumpMapping> map() {
    const gguf::Index index(set_.files.front().document);
    source_.emplace(set_, request_, mapping_.refusals);
    MU_ASSIGN(arch::Facts stated, arch::read_facts(index, set_.files.front()));
    std::optional<BumpHyperParameters> hyper =
        read_bump_hyper_parameters(std::move(stated), request_, mapping_.refusals);
    if (hyper) {
      mapping_.hyper = std::move(*hyper);
      map_entries();
    }
    sort_out_the_rest(hyper.has_value());
    if (!mapping_.refusals.empty()) mapping_.entries.clear();
    return std::move(mapping_);
  }

 private:
  Dimensions& dimensions() { return mapping_.hyper.dimensions; }

  void map_entries() {
    const LocatedTensor* embedding = source_->find("token_embd.weight");
    dimensions().vocab = embedding != nullptr && embedding->ne.size() == 2 ? embedding->ne[1] : 1;
    if (dimensions().vocab > ~u32{0})
      source_->refuse("gguf2bump-shape", embedding->name, "has more than 2^32 - 1 rows");
    const u64 count = bump::entry_count(dimensions().layers);
    mapping_.entries.reserve(std::min<u64>(count, 2 * source_->tensors().size() + 4));
    u64 offset = bump::codes_offset + count;
    for (u64 i = 0; i < count; ++i) {
      BumpEntry out;
      std::tie(out.entry.role, out.entry.layer) = bump::entry_at(i, dimensions().layers);
      out.entry.offset = offset;
      if (!map_entry(out)) continue;
      const std::optional<u64> size = bump::entry_bytes(out.entry.role, out.entry.dtype, dimensions());
      const std::optional<u64> next = size ? checked_add(offset, *size) : std::nullopt;
      if (!next || *next > u64{1} << 62) {
        mapping_.refusals.add("gguf2bump-size", {}, {}, "the file would be larger than 2^62 bytes");
        return;
      }
      out.entry.size = *size;
      offset = *next;
      if (mapping_.refusals.empty()) mapping_.entries.push_back(std::move(out));
    }
    mapping_.file_size = offset;
    if (embedding != nullptr) mapping_.token_embedding = *embedding;
  }

  bool map_entry(BumpEntry& out) {
    const Dimensions& d = dimensions();
    const RoleInfo& role = bump::role_info(out.entry.role);
    const u64 pad = d.aligned_head - d.head_dim;
    switch (role.role) {
      case Role::pos_emb: {
        const std::optional<u64> bytes = bump::entry_bytes(role.role, Dtype::fp32, d);
        return zeros(out, bytes.value_or(0));
      }
      case Role::final_ln_bias: return zeros(out, d.aligned_embed * 4);
      case Role::token_emb: return matrix(out, {d.embed, d.vocab}, 1, 0);
      case Role::wq: return matrix(out, {d.embed, d.heads * d.head_dim}, d.heads, pad) && split(out, d.heads);
      case Role::wk: return matrix(out, {d.embed, d.kv_heads * d.head_dim}, d.kv_heads, pad) && split(out, d.kv_heads);
      case Role::wv: return matrix(out, {d.embed, d.kv_heads * d.head_dim}, d.kv_heads, pad);
      case Role::wo: return output_projection(out) && pack_by_head(out);
      case Role::w1: return gate_and_up(out);
      case Role::w2: return matrix(out, {d.intermediate, d.embed}, 1, 0);
      case Role::bq: return vector(out, 0, d.heads, d.head_dim, pad, false) && split(out, d.heads);
      case Role::bk: return vector(out, 0, d.kv_heads, d.head_dim, pad, false) && split(out, d.kv_heads);
      case Role::bv: return vector(out, 0, d.kv_heads, d.head_dim, pad, false);
      case Role::b1: {
        const bool gate = vector(out, 0, 1, d.intermediate, 0, false);
        const bool up = vector(out, 1, 1, d.intermediate, 0, false);
        return gate && up;
      }
      case Role::bo:
      case Role::b2: return vector(out, 0, 1, d.embed, d.aligned_embed - d.embed, false);
      case Role::ln1_gamma:
      case Role::ln2_gamma:
      case Role::final_ln_weight: return vector(out, 0, 1, d.embed, d.aligned_embed - d.embed, true);
    }
    return false;
  }

  std::string source_name(const BumpEntry& out, std::size_t which) const {
    const RoleInfo& role = bump::role_info(out.entry.role);
    return role.in_layer ? block_tensor_name(out.entry.layer, role.sources[which]) : std::string(role.sources[which]);
  }

  static bool zeros(BumpEntry& out, u64 bytes) {
    BumpPart part;
    part.zeros = bytes;
    out.parts.push_back(part);
    return true;
  }

  /// Adds a vector of `heads` × `length` elements of a float type, widened to FP32, with `pad` zero elements after each
  /// head.
  bool vector(BumpEntry& out, std::size_t which, u64 heads, u64 length, u64 pad, bool required) {
    const std::string name = source_name(out, which);
    const LocatedTensor* tensor = source_->take(name, {heads * length}, required);
    if (tensor == nullptr) return !required && zeros(out, heads * (length + pad) * 4);
    if (!source_->is_plain_vector(*tensor)) return false;
    mapping_.has_qkv_bias |= out.entry.role == Role::bq;
    mapping_.has_mlp_bias |= out.entry.role == Role::b1 || out.entry.role == Role::b2;
    BumpPart part = part_as(*tensor, TensorType::F32);
    part.repeat = pad == 0 ? 1 : heads;
    part.run = tensor->bytes / part.repeat;
    part.zeros = pad * 4;
    out.parts.push_back(part);
    out.sources.push_back(name);
    return true;
  }

  /// Returns the tensor's dtype in the file; nullopt after adding a refusal that names the flag that would help.
  std::optional<Dtype> carried_dtype(const LocatedTensor& tensor) {
    const std::optional<Dtype> dtype = bump::dtype_of(tensor.type);
    if (dtype && bump::code_of(*dtype, request_.codes())) return dtype;
    std::string message = fmt::format("is {}, which has no dtype code in the {} numbering", type_name(tensor.type),
                                      bump::numbering_name(request_.codes()));
    if (dtype) message += "; pass --dtype-codes renumbered, which has one";
    mapping_.refusals.add("gguf2bump-type", "tensor", tensor.name, std::move(message),
                          fmt::format("it, of type {}", type_name(tensor.type)));
    return std::nullopt;
  }

  /// Adds a matrix whose rows form `heads` groups, with `pad` zero rows after each.
  bool matrix(BumpEntry& out, std::vector<u64> ne, u64 heads, u64 pad) {
    const std::string name = source_name(out, 0);
    const LocatedTensor* tensor = source_->take(name, std::move(ne), true);
    const std::optional<Dtype> dtype = tensor == nullptr ? std::nullopt : carried_dtype(*tensor);
    if (!dtype) return false;
    out.entry.dtype = *dtype;
    BumpPart part = part_of(*tensor, BumpPart::Kind::copy);
    if (pad != 0) {
      part.repeat = heads;
      part.run = tensor->bytes / heads;
      part.zeros = pad * row_bytes(tensor->type, tensor->ne[0]).value_or(0);
    }
    out.parts.push_back(part);
    out.sources.push_back(name);
    return true;
  }

  /// Adds wo. With padded heads, each head's columns are padded; block types allow this only at whole blocks.
  bool output_projection(BumpEntry& out) {
    const Dimensions& d = dimensions();
    if (!matrix(out, {d.heads * d.head_dim, d.embed}, 1, 0)) return false;
    if (d.aligned_head == d.head_dim) return true;
    BumpPart& part = out.parts.back();
    const std::optional<u64> run = row_bytes(part.type, d.head_dim);
    const std::optional<u64> padding = row_bytes(part.type, d.aligned_head - d.head_dim);
    if (!run || !padding) {
      source_->refuse("gguf2bump-align-head", out.sources.back(),
                      fmt::format("is {} in blocks of {} elements: heads of {} cannot be padded to {}; {}",
                                  type_name(part.type), type_info(part.type).block_elements, d.head_dim, d.aligned_head,
                                  run ? "choose a multiple of the block size"
                                      : "they do not fill whole blocks, so leave out --align-head"));
      return false;
    }
    part.repeat = d.embed * d.heads;
    part.run = *run;
    part.zeros = *padding;
    return true;
  }

  /// Reorders Q, K and their biases so that the rotated pairs of each head are split: all first elements, then all
  /// second elements, then the elements that are not rotated. Only GGUF's llama architecture has them as pairs.
  bool split(BumpEntry& out, u64 heads) {
    if (!request_.split_halves || mapping_.hyper.stated.architecture != "llama" || out.sources.empty()) return true;
    const Dimensions& d = dimensions();
    const u64 rotated = mapping_.hyper.rope_dimensions;
    if (rotated > d.head_dim || rotated % 2 != 0) {
      source_->refuse("gguf2bump-repack", out.sources.front(),
                      fmt::format("has heads of {} elements of which {} are rotated: they cannot be split into halves",
                                  d.head_dim, rotated));
      return false;
    }
    const BumpPart whole = out.parts.front();
    const u64 row = whole.run * whole.repeat / (heads * d.head_dim);
    out.parts.clear();
    for (u64 head = 0; head < heads; ++head) {
      BumpPart part = whole;
      part.offset = whole.offset + head * d.head_dim * row;
      part.repeat = rotated / 2;
      part.run = row;
      part.stride = 2 * row;
      part.zeros = 0;
      out.parts.push_back(part);
      part.offset += row;
      out.parts.push_back(part);
      part.offset += (rotated - 1) * row;
      part.repeat = 1;
      part.run = (d.head_dim - rotated) * row;
      part.stride = 0;
      part.zeros = whole.zeros;
      out.parts.push_back(part);
    }
    return true;
  }

  /// Reorders F32 wo head by head, as E rows of D columns each.
  bool pack_by_head(BumpEntry& out) {
    if (!request_.split_halves || out.entry.dtype != Dtype::fp32) return true;
    const Dimensions& d = dimensions();
    const BumpPart whole = out.parts.front();
    const u64 run = d.head_dim * 4;
    out.parts.clear();
    for (u64 head = 0; head < d.heads; ++head) {
      BumpPart part = whole;
      part.offset = whole.offset + head * run;
      part.repeat = d.embed;
      part.run = run;
      part.stride = d.heads * run;
      part.zeros = (d.aligned_head - d.head_dim) * 4;
      out.parts.push_back(part);
    }
    return true;
  }

  bool gate_and_up(BumpEntry& out) {
    const Dimensions& d = dimensions();
    const bool has_gate = matrix(out, {d.embed, d.intermediate}, 1, 0);
    const std::string name = source_name(out, 1);
    const LocatedTensor* up = source_->take(name, {d.embed, d.intermediate}, true);
    if (!has_gate || up == nullptr) return false;
    if (up->type != out.parts.front().type) {
      source_->refuse("gguf2bump-gate-up", name,
                      fmt::format("is {}, but '{}' is {}; w1 holds both and has a single dtype", type_name(up->type),
                                  out.sources.front(), type_name(out.parts.front().type)));
      return false;
    }
    out.parts.push_back(part_of(*up, BumpPart::Kind::copy));
    out.sources.push_back(name);
    return true;
  }

  /// Handles the tensors not used by any entry. If `has_dimensions` is false, the hyper-parameters could not be read
  /// and no tensor was placed.
  void sort_out_the_rest(bool has_dimensions) {
    for (const LocatedTensor& tensor : source_->tensors()) {
      mapping_.has_experts |= is_expert_tensor(tensor.name);
      mapping_.has_output |= tensor.name == "output.weight";
    }
    if (!has_dimensions) return;
    const LocatedTensor* embedding = source_->find("token_embd.weight");
    for (const LocatedTensor* tensor : source_->left_over()) {
      if (tensor->name == "output.weight" && embedding != nullptr && embedding->type == tensor->type &&
          embedding->ne == tensor->ne) {
        mapping_.output = *tensor;
      } else if (tensor->name == "rope_freqs.weight") {
        mapping_.rope_freqs = *tensor;
      } else {
        source_->set_aside(*tensor, reason_without_place(tensor->name, 3), mapping_.unplaced);
      }
    }
  }

  const gguf::SplitSet& set_;
  const BumpRequest& request_;
  BumpMapping mapping_;
  std::optional<BumpSource> source_;
};

}  // namespace

Result<BumpMapping> map_gguf_to_bump(const gguf::SplitSet& set, const BumpRequest& request) {
  return EntryMapper(set, request).map();
}

Result<bool> same_bytes(const gguf::SplitSet& set, const LocatedTensor& a, const LocatedTensor& b) {
  if (a.bytes != b.bytes) return false;
  return same_bytes(*set.files[a.file].source, a.offset, *set.files[b.file].source, b.offset, a.bytes);
}

namespace {

constexpr u64 longest_rope = 65536;  // rotated elements per head; published models have at most 256

void write_llama3(json::Writer& out, const Llama3Rope& rope) {
  const auto in_object = out.object();
  out.member("rope_type", "llama3");
  out.key("factor");
  out.decimal(static_cast<float>(rope.factor));
  out.key("low_freq_factor");
  out.decimal(static_cast<float>(rope.low_freq_factor));
  out.key("high_freq_factor");
  out.decimal(static_cast<float>(rope.high_freq_factor));
  out.key("original_max_position_embeddings");
  if (rope.original_context == std::floor(rope.original_context)) {
    out.number(static_cast<u64>(rope.original_context));
  } else {
    out.number(rope.original_context);
  }
}

void write_key_scaling(json::Writer& out, const arch::Facts& stated, const RopeScalingKeys& scaling) {
  const auto in_object = out.object();
  out.member("rope_type", scaling.type);
  out.member("type", scaling.type);  // the older name, which some readers require
  const auto number = [&](std::string_view name, const arch::Fact& fact) {
    if (const std::optional<double> value = fact.real()) {
      out.key(name);
      out.decimal(static_cast<float>(*value));
    }
  };
  out.key("factor");
  out.decimal(static_cast<float>(scaling.factor.value_or(1)));
  if (const auto original = stated.rope_context.number()) {
    out.member("original_max_position_embeddings", *original);
  }
  number("attention_factor", stated.yarn_attention_factor);
  number("extrapolation_factor", stated.yarn_extrapolation_factor);
  number("beta_fast", stated.yarn_beta_fast);
  number("beta_slow", stated.yarn_beta_slow);
}

// Returns the common float type of all matrices; nullopt if there is none.
std::optional<std::string_view> torch_dtype_of(const BumpMapping& mapping) {
  std::optional<bump::Dtype> common;
  for (const BumpEntry& entry : mapping.entries) {
    if (!bump::role_info(entry.entry.role).has_source_type) continue;
    if (common && *common != entry.entry.dtype) return std::nullopt;
    common = entry.entry.dtype;
  }
  if (common == bump::Dtype::fp32) return "float32";
  if (common == bump::Dtype::fp16) return "float16";
  if (common == bump::Dtype::bf16) return "bfloat16";
  return std::nullopt;
}

}  // namespace

std::optional<HfIdentity> hf_identity_of(std::string_view architecture, bool has_experts) {
  const arch::Family* family = arch::find_gguf_family(architecture, has_experts);
  if (family == nullptr) family = arch::find_family({}, architecture);  // for names like "mistral"
  if (family == nullptr) return std::nullopt;
  return HfIdentity{arch::first_name(family->classes), arch::first_name(family->model_types), family->activation};
}

Result<std::optional<Llama3Rope>> read_rope_freqs(const gguf::SplitSet& set, const BumpMapping& mapping) {
  if (!mapping.rope_freqs) return std::nullopt;
  const LocatedTensor& tensor = *mapping.rope_freqs;
  const u64 rotated = mapping.hyper.rope_dimensions;
  if (tensor.type != TensorType::F32 || rotated % 2 != 0 || rotated > longest_rope ||
      tensor.ne != std::vector<u64>{rotated / 2}) {
    return std::nullopt;
  }
  std::vector<float> freqs(static_cast<std::size_t>(rotated / 2));
  MU_TRY(set.files[tensor.file].source->read_exact(tensor.offset, std::as_writable_bytes(std::span(freqs))));
  return find_llama3_rope(static_cast<double>(mapping.hyper.rope_theta), freqs);
}

void check_bump_config(const BumpMapping& mapping, Refusals& refusals) {
  const BumpHyperParameters& hyper = mapping.hyper;
  if (!hf_identity_of(hyper.stated.architecture, mapping.has_experts)) {
    refusals.add("gguf2bump-architecture", "key", "general.architecture",
                 fmt::format("is '{}', which has no name in config.json; --no-config writes only the weights",
                             hyper.stated.architecture));
  }
  if (!hyper.rms_eps || !std::isfinite(*hyper.rms_eps)) {
    refusals.add("gguf2bump-key", "key", hyper.stated.norm_epsilon.name,
                 "is missing or not a finite number, but config.json needs it; --no-config writes only the weights");
  }
  if (!std::isfinite(hyper.rope_theta)) {
    refusals.add("gguf2bump-key", "key", hyper.stated.rope_base.name, "is not a finite number");
  }
  const RopeScalingKeys scaling = rope_scaling_keys(hyper.stated);
  const bool is_known = scaling.type.empty() || scaling.type == "linear" || scaling.type == "yarn";
  const bool has_factor = scaling.type.empty() || (scaling.factor && std::isfinite(*scaling.factor));
  if (!is_known || !has_factor || (!scaling.type.empty() && mapping.rope_freqs)) {
    refusals.add(
        "gguf2bump-rope-scaling", "key", hyper.stated.rope_scaling.name,
        fmt::format("is '{}' {}; --no-config writes only the weights", scaling.type,
                    !is_known    ? "instead of none, linear or yarn"
                    : has_factor ? "in addition to rope_freqs.weight, but config.json has room for only one of them"
                                 : "without a factor"));
  }
}

std::string bump_config_text(const gguf::Index& index, const BumpMapping& mapping,
                             const std::optional<Llama3Rope>& rope) {
  const BumpHyperParameters& hyper = mapping.hyper;
  const bump::Dimensions& d = hyper.dimensions;
  const HfIdentity identity = hf_identity_of(hyper.stated.architecture, mapping.has_experts).value_or(HfIdentity{});
  json::Writer out(json::Writer::Style::pretty);
  {
    const auto in_object = out.object();
    {
      const auto in_architectures = out.array("architectures");
      out.string(identity.class_name);
    }
    out.member("model_type", identity.model_type);
    out.member("num_hidden_layers", d.layers);
    out.member("hidden_size", d.embed);
    out.member("intermediate_size", d.intermediate);
    out.member("num_attention_heads", d.heads);
    out.member("num_key_value_heads", d.kv_heads);
    out.member("vocab_size", d.vocab);
    out.member("max_position_embeddings", d.context);
    out.key("rms_norm_eps");
    out.decimal(hyper.rms_eps.value_or(0));
    out.key("rope_theta");
    out.decimal(hyper.rope_theta);

    out.member("head_dim", d.head_dim);
    out.member("tie_word_embeddings", !mapping.has_output || mapping.output.has_value());
    out.member("attention_bias", mapping.has_qkv_bias);
    if (mapping.has_mlp_bias) out.member("mlp_bias", true);
    if (hyper.rope_dimensions != d.head_dim) {
      out.key("partial_rotary_factor");
      out.decimal(static_cast<float>(hyper.rope_dimensions) / static_cast<float>(d.head_dim));
    }
    const RopeScalingKeys scaling = rope_scaling_keys(hyper.stated);
    if (rope) {
      out.key("rope_scaling");
      write_llama3(out, *rope);
    } else if (!scaling.type.empty()) {
      out.key("rope_scaling");
      write_key_scaling(out, hyper.stated, scaling);
    }
    out.member("hidden_act", identity.hidden_act);
    if (const auto window = hyper.stated.window.number(); window && *window != 0) {
      out.member("sliding_window", *window);
    }
    for (const std::string_view name : {"bos_token_id", "eos_token_id"}) {
      const auto id = index.unsigned_value("tokenizer.ggml." + std::string(name));
      if (id && *id < d.vocab) out.member(name, *id);
    }
    out.member("torch_dtype", torch_dtype_of(mapping));
  }
  return out.text() + "\n";
}

}  // namespace modelutils
