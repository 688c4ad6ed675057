#include "convert/to_bump/source.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/not_found.h"
#include "base/types.h"
#include "tensor/types.h"

namespace modelutils {

namespace {

bool ends_with_any(std::string_view name, std::initializer_list<std::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(), [&](std::string_view ending) { return name.ends_with(ending); });
}

}  // namespace

std::string block_tensor_name(u64 layer, std::string_view suffix) {
  return fmt::format("blk.{}.{}", layer, suffix);
}

bool is_expert_tensor(std::string_view name) {
  return name.find("_exps.") != std::string_view::npos || name.find("_shexp.") != std::string_view::npos ||
         name.find("ffn_gate_inp") != std::string_view::npos || name.find("exp_probs_b") != std::string_view::npos;
}

std::string reason_without_place(std::string_view name, u32 version) {
  const std::string format = fmt::format("BUMPWGT{}", version);
  if (ends_with_any(name, {".attn_qkv.weight", ".attn_qkv.bias"}))
    return fmt::format("Q, K and V are fused, but {} stores them separately", format);
  if (is_expert_tensor(name)) return format + " cannot hold experts";
  if (ends_with_any(name, {".attn_q_norm.weight", ".attn_k_norm.weight"}))
    return format + (version == 3 ? " cannot hold QK-norms" : " cannot hold QK-norms of this architecture");
  if (name == "output.weight") return format + " cannot hold a separate output head; it uses the embedding";
  if (name.starts_with("rope_factors_")) return "config.json cannot express rope factors of this kind";
  return format + " cannot hold it";
}

BumpSource::BumpSource(const gguf::SplitSet& set, const BumpRequest& request, Refusals& refusals)
    : request_(request), refusals_(refusals) {
  locate(set);
  taken_.resize(tensors_.size());
}

void BumpSource::locate(const gguf::SplitSet& set) {
  for (std::size_t file = 0; file < set.files.size(); ++file) {
    const gguf::Document& document = set.files[file].document;
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
}

const LocatedTensor* BumpSource::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &tensors_[found->second];
}

bool BumpSource::is_dropped(std::string_view name) const {
  return std::any_of(request_.drop.begin(), request_.drop.end(),
                     [&](const std::string& glob) { return glob_match(glob, name); });
}

void BumpSource::set_aside(const LocatedTensor& tensor, std::string reason,
                           std::vector<UnplacedTensor>& unplaced) const {
  // Without its scale factor the whole weight would be wrong, so leaving it out cannot be accepted.
  constexpr std::string_view factor = ".scale";
  const std::string weight = tensor.name.substr(0, tensor.name.rfind('.')) + ".weight";
  const bool is_needed = tensor.name.ends_with(factor) && find(weight) != nullptr && !is_dropped(weight);
  const bool dropped = !is_needed && is_dropped(tensor.name);
  if (is_needed) {
    refuse("gguf2bump-no-place", tensor.name,
           fmt::format(
               "{}, and without it '{}' would be wrong by this factor; make a GGUF without factors (mlx2gguf --compat)",
               reason, layer_pattern(weight)));
  } else if (!dropped) {
    refuse("gguf2bump-no-place", tensor.name,
           fmt::format("{}; pass --drop '{}' to accept the loss", reason, layer_pattern(tensor.name)));
  }
  unplaced.push_back({tensor, std::move(reason), dropped});
}

void BumpSource::refuse(std::string code, std::string_view tensor, std::string message) const {
  refusals_.add(std::move(code), "tensor", tensor, std::move(message));
}

const LocatedTensor* BumpSource::take(const std::string& name, std::vector<u64> ne, bool required) {
  const LocatedTensor* tensor = find(name);
  if (tensor == nullptr) {
    if (required && !is_excused(name)) refuse("gguf2bump-missing", name, "is missing");
    return nullptr;
  }
  taken_[static_cast<std::size_t>(tensor - tensors_.data())] = true;
  while (ne.size() > 1 && ne.back() == 1) ne.pop_back();
  if (tensor->ne != ne) {
    refuse("gguf2bump-shape", name,
           fmt::format("has shape {}, but the hyper-parameters imply {}", shape_text(tensor->ne), shape_text(ne)));
    return nullptr;
  }
  return tensor;
}

bool BumpSource::is_plain_vector(const LocatedTensor& tensor) const {
  if (tensor.type == TensorType::F32 || tensor.type == TensorType::F16 || tensor.type == TensorType::BF16) return true;
  refuse("gguf2bump-norm-type", tensor.name,
         fmt::format("is {}; norms and biases must be F32, F16 or BF16", type_name(tensor.type)));
  return false;
}

std::vector<const LocatedTensor*> BumpSource::left_over() const {
  std::vector<const LocatedTensor*> left;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (!taken_[i]) left.push_back(&tensors_[i]);
  }
  return left;
}

// True if a tensor is missing because a fused or expert tensor replaces it: then only the replacement is refused.
bool BumpSource::is_excused(std::string_view name) const {
  const std::size_t dot = name.find('.', 4);
  if (!name.starts_with("blk.") || dot == std::string_view::npos) return false;
  const std::string block(name.substr(0, dot));
  const std::string_view role = name.substr(dot + 1);
  const auto stands = [&](std::string_view other) {
    const std::string tensor = block + std::string(other);
    return find(tensor) != nullptr && !is_dropped(tensor);
  };
  if (role == "attn_q.weight" || role == "attn_k.weight" || role == "attn_v.weight") return stands(".attn_qkv.weight");
  if (role == "ffn_gate.weight" || role == "ffn_up.weight" || role == "ffn_down.weight") {
    return stands(".ffn_gate_inp.weight") || stands(".ffn_gate_exps.weight");
  }
  return false;
}

}  // namespace modelutils
