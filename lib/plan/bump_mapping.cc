#include "plan/bump_mapping.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>

#include "base/checked_math.h"
#include "base/glob.h"
#include "io/same_bytes.h"
#include "tensor/shape.h"

namespace modelutils {

namespace {

using bump::Dimensions;
using bump::Dtype;
using bump::Role;
using bump::RoleInfo;

std::string layer_name(u64 layer, std::string_view suffix) {
  return fmt::format("blk.{}.{}", layer, suffix);
}

bool ends_with_any(std::string_view name, std::initializer_list<std::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(), [&](std::string_view ending) { return name.ends_with(ending); });
}

bool is_expert(std::string_view name) {
  return name.find("_exps.") != std::string_view::npos || name.find("_shexp.") != std::string_view::npos ||
         name.find("ffn_gate_inp") != std::string_view::npos || name.find("exp_probs_b") != std::string_view::npos;
}

std::string reason_without_place(std::string_view name) {
  if (ends_with_any(name, {".attn_qkv.weight", ".attn_qkv.bias"}))
    return "Q, K and V are fused, but BUMPWGT3 stores them separately";
  if (is_expert(name)) return "BUMPWGT3 has no place for experts";
  if (ends_with_any(name, {".attn_q_norm.weight", ".attn_k_norm.weight"})) return "BUMPWGT3 has no place for QK-norms";
  if (name == "output.weight") return "BUMPWGT3 has no place for a separate output head; it uses the embedding";
  if (name.starts_with("rope_factors_")) return "config.json cannot express rope factors of this kind";
  return "BUMPWGT3 has no place for it";
}

class EntryMapper {
 public:
  EntryMapper(const gguf::SplitSet& set, const BumpRequest& request) : set_(set), request_(request) {}

  Result<BumpMapping> map() {
    const gguf::Index index(set_.files.front().document);
    locate_tensors();
    MU_ASSIGN(std::optional<BumpHyperParameters> hyper,
              read_bump_hyper_parameters(set_, index, request_, mapping_.refusals));
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

  void refuse(std::string code, std::string_view tensor, std::string message) {
    mapping_.refusals.add(std::move(code), "tensor", tensor, std::move(message));
  }

  void locate_tensors() {
    for (std::size_t file = 0; file < set_.files.size(); ++file) {
      const gguf::Document& document = set_.files[file].document;
      for (const gguf::TensorInfo& info : document.tensors) {
        const std::optional<TensorType> type = info.type();
        const std::optional<u64> bytes = info.bytes();
        const std::optional<u64> offset = checked_add(document.data_offset, info.offset);
        if (!type || !bytes || !offset || !fits(*offset, *bytes, document.file_size.value_or(0))) {
          refuse("gguf2bump-tensor", info.name, "has an unknown size or lies outside the file");
          continue;
        }
        LocatedTensor located{info.name, *type, info.ne, file, *offset, *bytes};
        while (located.ne.size() > 1 && located.ne.back() == 1) located.ne.pop_back();
        if (const auto [slot, is_new] = by_name_.try_emplace(info.name, tensors_.size()); is_new) {
          tensors_.push_back(std::move(located));
        }
      }
    }
    placed_.resize(tensors_.size());
  }

  const LocatedTensor* find(std::string_view name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : &tensors_[found->second];
  }

  bool is_dropped(std::string_view name) const {
    return std::any_of(request_.drop.begin(), request_.drop.end(),
                       [&](const std::string& glob) { return glob_match(glob, name); });
  }

  /// The tensor, checked for its shape and taken; nullptr (and a refusal, if it is required) otherwise.
  const LocatedTensor* take(const std::string& name, std::vector<u64> ne, bool required) {
    const LocatedTensor* tensor = find(name);
    if (tensor == nullptr) {
      if (required && !excused(name)) refuse("gguf2bump-missing", name, "is missing");
      return nullptr;
    }
    placed_[static_cast<std::size_t>(tensor - tensors_.data())] = true;
    while (ne.size() > 1 && ne.back() == 1) ne.pop_back();
    if (tensor->ne != ne) {
      refuse("gguf2bump-shape", name,
             fmt::format("has shape {}, but the hyper-parameters imply {}", shape_text(tensor->ne), shape_text(ne)));
      return nullptr;
    }
    return tensor;
  }

  /// A tensor that is missing because a fused or expert tensor stands in for it: that one is refused, once.
  bool excused(std::string_view name) const {
    const std::size_t dot = name.find('.', 4);
    if (!name.starts_with("blk.") || dot == std::string_view::npos) return false;
    const std::string block(name.substr(0, dot));
    const std::string_view role = name.substr(dot + 1);
    const auto stands = [&](std::string_view other) {
      const std::string tensor = block + std::string(other);
      return find(tensor) != nullptr && !is_dropped(tensor);
    };
    if (role == "attn_q.weight" || role == "attn_k.weight" || role == "attn_v.weight")
      return stands(".attn_qkv.weight");
    if (role == "ffn_gate.weight" || role == "ffn_up.weight" || role == "ffn_down.weight") {
      return stands(".ffn_gate_inp.weight") || stands(".ffn_gate_exps.weight");
    }
    return false;
  }

  void map_entries() {
    const LocatedTensor* embedding = find("token_embd.weight");
    dimensions().vocab = embedding != nullptr && embedding->ne.size() == 2 ? embedding->ne[1] : 1;
    if (dimensions().vocab > ~u32{0}) refuse("gguf2bump-shape", embedding->name, "has more than 2^32 - 1 rows");
    const u64 count = bump::entry_count(dimensions().layers);
    mapping_.entries.reserve(std::min<u64>(count, 2 * tensors_.size() + 4));
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
      case Role::wq: return matrix(out, {d.embed, d.heads * d.head_dim}, d.heads, pad);
      case Role::wk:
      case Role::wv: return matrix(out, {d.embed, d.kv_heads * d.head_dim}, d.kv_heads, pad);
      case Role::wo: return output_projection(out);
      case Role::w1: return gate_and_up(out);
      case Role::w2: return matrix(out, {d.intermediate, d.embed}, 1, 0);
      case Role::bq: return vector(out, 0, d.heads, d.head_dim, pad, false);
      case Role::bk:
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
    return role.in_layer ? layer_name(out.entry.layer, role.sources[which]) : std::string(role.sources[which]);
  }

  static bool zeros(BumpEntry& out, u64 bytes) {
    BumpPart part;
    part.zeros = bytes;
    out.parts.push_back(part);
    return true;
  }

  /// A vector of `heads` × `length` elements of a float type, widened, `pad` zero elements after each head.
  bool vector(BumpEntry& out, std::size_t which, u64 heads, u64 length, u64 pad, bool required) {
    const std::string name = source_name(out, which);
    const LocatedTensor* tensor = take(name, {heads * length}, required);
    if (tensor == nullptr) return !required && zeros(out, heads * (length + pad) * 4);
    if (tensor->type != TensorType::F32 && tensor->type != TensorType::F16 && tensor->type != TensorType::BF16) {
      refuse("gguf2bump-norm-type", name,
             fmt::format("is {}; norms and biases must be F32, F16 or BF16", type_name(tensor->type)));
      return false;
    }
    mapping_.has_qkv_bias |= out.entry.role == Role::bq;
    mapping_.has_mlp_bias |= out.entry.role == Role::b1 || out.entry.role == Role::b2;
    BumpPart part = part_of(*tensor, BumpPart::Kind::widen);
    part.repeat = pad == 0 ? 1 : heads;
    part.run = tensor->bytes / part.repeat;
    part.zeros = pad * 4;
    out.parts.push_back(part);
    out.sources.push_back(name);
    return true;
  }

  BumpPart part_of(const LocatedTensor& tensor, BumpPart::Kind kind) const {
    BumpPart part;
    part.kind = kind;
    part.type = tensor.type;
    part.file = tensor.file;
    part.offset = tensor.offset;
    part.run = tensor.bytes;
    return part;
  }

  /// The tensor's dtype in the file, or nothing and a refusal that names the flag that would help.
  std::optional<Dtype> carried_dtype(const LocatedTensor& tensor) {
    const std::optional<Dtype> dtype = bump::dtype_of(tensor.type);
    if (dtype && bump::code_of(*dtype, request_.numbering)) return dtype;
    std::string message = fmt::format("is {}, which has no dtype code in the {} numbering", type_name(tensor.type),
                                      bump::numbering_name(request_.numbering));
    if (dtype) message += "; pass --dtype-codes renumbered, which has one";
    mapping_.refusals.add("gguf2bump-type", "tensor", tensor.name, std::move(message),
                          fmt::format("it, of type {}", type_name(tensor.type)));
    return std::nullopt;
  }

  /// A matrix whose rows are in `heads` groups, `pad` zero rows after each.
  bool matrix(BumpEntry& out, std::vector<u64> ne, u64 heads, u64 pad) {
    const std::string name = source_name(out, 0);
    const LocatedTensor* tensor = take(name, std::move(ne), true);
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

  /// wo: with padded heads its columns are padded for each head, which block types allow at whole blocks only.
  bool output_projection(BumpEntry& out) {
    const Dimensions& d = dimensions();
    if (!matrix(out, {d.heads * d.head_dim, d.embed}, 1, 0)) return false;
    if (d.aligned_head == d.head_dim) return true;
    BumpPart& part = out.parts.back();
    const std::optional<u64> run = row_bytes(part.type, d.head_dim);
    const std::optional<u64> padding = row_bytes(part.type, d.aligned_head - d.head_dim);
    if (!run || !padding) {
      refuse("gguf2bump-align-head", out.sources.back(),
             fmt::format("is {} in blocks of {} elements: heads of {} cannot be padded to {}; {}", type_name(part.type),
                         type_info(part.type).block_elements, d.head_dim, d.aligned_head,
                         run ? "choose a multiple of the block size"
                             : "they do not fill whole blocks, so leave out --align-head"));
      return false;
    }
    part.repeat = d.embed * d.heads;
    part.run = *run;
    part.zeros = *padding;
    return true;
  }

  bool gate_and_up(BumpEntry& out) {
    const Dimensions& d = dimensions();
    const bool has_gate = matrix(out, {d.embed, d.intermediate}, 1, 0);
    const std::string name = source_name(out, 1);
    const LocatedTensor* up = take(name, {d.embed, d.intermediate}, true);
    if (!has_gate || up == nullptr) return false;
    if (up->type != out.parts.front().type) {
      refuse("gguf2bump-gate-up", name,
             fmt::format("is {}, but '{}' is {}; w1 holds both and has a single dtype", type_name(up->type),
                         out.sources.front(), type_name(out.parts.front().type)));
      return false;
    }
    out.parts.push_back(part_of(*up, BumpPart::Kind::copy));
    out.sources.push_back(name);
    return true;
  }

  /// What no entry took. `has_dimensions` is false if the hyper-parameters could not be read: then nothing was placed.
  void sort_out_the_rest(bool has_dimensions) {
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const LocatedTensor& tensor = tensors_[i];
      mapping_.has_experts |= is_expert(tensor.name);
      mapping_.has_output |= tensor.name == "output.weight";
      if (placed_[i] || !has_dimensions) continue;
      const LocatedTensor* embedding = find("token_embd.weight");
      if (tensor.name == "output.weight" && embedding != nullptr && embedding->type == tensor.type &&
          embedding->ne == tensor.ne) {
        mapping_.output = tensor;
      } else if (tensor.name == "rope_freqs.weight") {
        mapping_.rope_freqs = tensor;
      } else {
        mapping_.unplaced.push_back({tensor, reason_without_place(tensor.name), is_dropped(tensor.name)});
        if (mapping_.unplaced.back().dropped) continue;
        refuse("gguf2bump-no-place", tensor.name,
               fmt::format("{}; pass --drop '{}' to accept the loss", mapping_.unplaced.back().reason,
                           layer_pattern(tensor.name)));
      }
    }
  }

  const gguf::SplitSet& set_;
  const BumpRequest& request_;
  BumpMapping mapping_;
  std::vector<LocatedTensor> tensors_;
  std::unordered_map<std::string_view, std::size_t> by_name_;  // views of the documents' names
  std::vector<bool> placed_;
};

}  // namespace

Result<BumpMapping> map_gguf_to_bump(const gguf::SplitSet& set, const BumpRequest& request) {
  return EntryMapper(set, request).map();
}

Result<bool> same_bytes(const gguf::SplitSet& set, const LocatedTensor& a, const LocatedTensor& b) {
  if (a.bytes != b.bytes) return false;
  return same_bytes(*set.files[a.file].source, a.offset, *set.files[b.file].source, b.offset, a.bytes);
}

}  // namespace modelutils
