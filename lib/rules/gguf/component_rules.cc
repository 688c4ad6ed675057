#include "rules/gguf/component_rules.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>

#include "arch/families.h"
#include "arch/names.h"
#include "arch/prediction_rows.h"
#include "arch/projectors.h"
#include "base/text.h"
#include "base/types.h"
#include "rules/gguf/rule_parts.h"
#include "tensor/types.h"

namespace modelutils {

namespace {

constexpr std::string_view count_key = "nextn_predict_layers";

std::optional<u64> blocks_of(const gguf::SplitSet& set) {
  std::optional<u64> blocks;
  for (const gguf::SetFile& file : set.files) {
    for (const gguf::TensorInfo& tensor : file.document.tensors) {
      if (const auto block = arch::block_of(tensor.name)) blocks = std::max(blocks.value_or(0), *block + 1);
    }
  }
  return blocks;
}

// True if llama.cpp loads a file without its prediction blocks: it either treats them as optional or does not know
// them. It counts layers that share keys from the last block, so without that block one layer too many needs keys.
bool loads_without_prediction(const arch::Family& family) {
  return family.cache.may_lack_prediction ||
         (family.cache.prediction == arch::PredictionBlocks::unknown && !family.cache.shares_last_layers);
}

}  // namespace

bool lacks_prediction(const gguf::Index& index, std::optional<u64> blocks) {
  const u64 extra = index.unsigned_value(index.arch_key(count_key)).value_or(0);
  const std::optional<u64> stated = index.unsigned_value(index.arch_key("block_count"));
  return extra > 0 && stated && blocks && *blocks < *stated && *stated - *blocks == extra;
}

FindingLog prediction_findings(const gguf::SplitSet& set) {
  FindingLog log;
  const gguf::Index index(set.files.front().document);
  const arch::Family* family = arch::find_family(index);
  const std::string name = index.arch_key(count_key);
  if (arch::is_prediction_alone(set)) {
    log.warning(Scope::model, "gguf-prediction-alone",
                "the file has only multi-token prediction (MTP) blocks: it is not a complete model, and llama.cpp "
                "crashes when running it alone",
                at_key(name));
  }
  if (family == nullptr || !lacks_prediction(index, blocks_of(set))) return log;
  const u64 extra = index.unsigned_value(name).value_or(0);
  const bool loads = loads_without_prediction(*family);
  log.add(
      loads ? Severity::note : Severity::error, Scope::model, "gguf-prediction-absent",
      fmt::format(
          "counts {} that {} missing from the file: llama.cpp {}", counted(extra, "block"), verb(extra, "is", "are"),
          loads ? fmt::format("loads the model without {}", verb(extra, "it", "them"))
                : fmt::format("refuses the file; subtract {} from block_count and set {} to 0", extra, count_key)),
      at_key(name), index.key(name)->offset);
  return log;
}

namespace {

using arch::Encoder;
using arch::EncoderLayers;
using arch::Projector;

class EncoderRules {
 public:
  EncoderRules(const gguf::SetFile& file, const gguf::Index& index, const Encoder& encoder, FindingLog& log)
      : file_(file), document_(file.document), index_(index), encoder_(encoder), log_(log) {}

  void check() {
    find_layers();
    const auto type = arch::projector_type(index_, encoder_);
    row_ = type ? arch::find_projector(*type, encoder_, index_) : nullptr;
    if (type && row_ == nullptr) {
      return log_.note(Scope::model, "gguf-projector",
                       fmt::format("'{}' is not a known type of {} encoder: its keys and tensors are not checked",
                                   *type, encoder_.name),
                       at_key("clip.projector_type"));
    }
    if (!is_whole()) {
      return log_.note(
          Scope::model, "loader-exempt",
          fmt::format("the file has few of the tensors of {} encoder, and general.type does not say that it is "
                      "a projector: it is not checked against llama.cpp's requirements",
                      encoder_.name == "audio" ? "an audio" : "a vision"),
          at_key(encoder_.flag));
    }
    if (!index_.bool_value(encoder_.flag)) missing(at_key(encoder_.flag));
    if (!type) return missing(at_key("clip.projector_type"));
    check_keys();
    check_tensors();
    const auto width = number("embedding_length");
    if (width && *width != 0) check_shapes(*width);
    gguf_rules::check_tower(file_, index_, encoder_, *row_, log_);
  }

 private:
  std::string key(std::string_view name) const { return fmt::format("clip.{}.{}", encoder_.name, name); }
  std::optional<u64> number(std::string_view name) const { return index_.unsigned_value(key(name)); }
  std::string in_layer(u64 layer, std::string_view name) const {
    return fmt::format("{}blk.{}.{}", encoder_.prefix, layer, name);
  }
  bool has(std::string_view name) const { return index_.tensor(name) != nullptr; }
  void missing(Place where) {
    log_.error(Scope::model, where.noun == "key" ? "loader-key" : "loader-tensor-missing",
               "is missing, but llama.cpp requires it", where);
  }

  // Counts the layers, and for each layer tensor in how many layers it appears.
  void find_layers() {
    const std::string prefix = fmt::format("{}blk.", encoder_.prefix);
    for (const gguf::TensorInfo& tensor : document_.tensors) {
      const std::optional<arch::LayerName> name = arch::layer_name(tensor.name, prefix);
      if (!name || name->layer >= document_.tensors.size()) continue;  // a number beyond the tensors is not a layer
      seen_ = std::max(seen_, name->layer + 1);
      if (name->layer >= number("block_count").value_or(name->layer + 1)) continue;  // llama.cpp does not load it
      ++in_layers_[name->rest];
    }
    layers_ = std::min(number("block_count").value_or(seen_), seen_);
  }

  std::vector<std::string> names_in_layers() const {
    const bool is_transformer = row_ == nullptr || row_->layers == EncoderLayers::transformer;
    const bool is_fused = in_layers_.contains("attn_qkv.weight");
    std::vector<std::string> names = {"attn_out.weight", "ffn_up.weight", "ffn_down.weight"};
    if (is_fused) names.emplace_back("attn_qkv.weight");
    if (!is_fused) names.insert(names.end(), {"attn_q.weight", "attn_k.weight", "attn_v.weight"});
    if (is_transformer) names.insert(names.end(), {"ln1.weight", "ln2.weight"});
    if (row_ != nullptr) std::ranges::copy(arch::projector_tensors(row_->layer_tensors), std::back_inserter(names));
    return names;
  }

  // Returns all tensors that llama.cpp requires for the layers present.
  std::vector<std::string> required() const {
    std::vector<std::string> names;
    if (row_ != nullptr) names = arch::projector_tensors(row_->tensors);
    if (row_ != nullptr && encoder_.name == "vision" && row_->has_plain_patches) {
      names.emplace_back("v.patch_embd.weight");
    }
    if (row_ != nullptr && row_->layers == EncoderLayers::own) return names;
    const std::vector<std::string> each = names_in_layers();
    for (u64 layer = 0; layer < layers_; ++layer) {
      for (const std::string& name : each) names.push_back(in_layer(layer, name));
    }
    return names;
  }

  bool is_whole() const {
    if (index_.string_value("general.type") == "mmproj") return true;
    const std::vector<std::string> names = required();
    const auto found = std::ranges::count_if(names, [this](const std::string& name) { return has(name); });
    return names.size() > 2 && 4 * static_cast<u64>(found) >= 3 * names.size();
  }

  void check_key(std::string_view name, gguf::ValueType type) {
    const std::string full = key(name);
    const gguf::KeyValue* entry = index_.key(full);
    if (entry == nullptr) return missing(at_key(full));
    if (entry->type() == type) return;
    log_.error(Scope::model, "loader-key",
               fmt::format("is of type {}, llama.cpp requires {}", gguf::short_type_name(entry->type()),
                           gguf::short_type_name(type)),
               at_key(full), entry->offset);
  }

  void check_keys() {
    for (const std::string_view name : arch::projector_words(encoder_.keys)) check_key(name, gguf::ValueType::u32);
    for (const std::string_view name : arch::projector_words(row_->keys)) check_key(name, gguf::ValueType::u32);
    check_key("attention.layer_norm_epsilon", gguf::ValueType::f32);
    if (encoder_.name == "vision") {
      for (const std::string_view name : {"image_mean", "image_std"}) check_colours(key(name));
    }
    if (row_->layers == EncoderLayers::own) return;
    const auto heads = number("attention.head_count");
    const auto width = number("embedding_length");
    if (heads && width && (*heads == 0 || *width % *heads != 0)) {
      bad_value("attention.head_count",
                fmt::format("is {}, which does not divide the embedding length {}", *heads, *width));
    }
    const auto layers = number("block_count");
    if (layers && *layers > seen_) {
      bad_value("block_count", fmt::format("is {}, but the tensors have {}", *layers, counted(seen_, "layer")));
    }
    if (number("patch_size") == 0) bad_value("patch_size", "is 0");
  }

  void bad_value(std::string_view name, std::string message) {
    const std::string full = key(name);
    log_.error(Scope::model, "loader-key", std::move(message), at_key(full), index_.key(full)->offset);
  }

  // Requires an array of three numbers. llama.cpp reads it as FLOAT32 without checking the type.
  void check_colours(const std::string& name) {
    const gguf::KeyValue* entry = index_.key(name);
    if (entry == nullptr) return missing(at_key(name));
    const gguf::ArrayRef* array = index_.array_value(name);
    if (array != nullptr && array->element_type == gguf::ValueType::f32 && array->count >= 3) return;
    log_.error(Scope::model, "loader-key", "must be an array of three f32", at_key(name), entry->offset);
  }

  void check_tensors() {
    for (const std::string& name : required()) {
      if (!has(name)) missing(at_tensor(name));
    }
    if (row_->layers == EncoderLayers::own) return;
    const std::vector<std::string> needed = names_in_layers();
    for (const auto& [name, count] : in_layers_) {
      // A tensor in fewer layers may be intentional.
      if (count >= layers_ || 4 * count < 3 * layers_ || std::ranges::count(needed, name) > 0) continue;
      for (u64 layer = 0; layer < layers_; ++layer) {
        const std::string full = in_layer(layer, name);
        if (has(full)) continue;
        log_.warning(Scope::model, "loader-tensor-uneven",
                     "is missing, but other layers have it: the model loads but computes something else",
                     at_tensor(full));
      }
    }
  }

  void wrong_shape(const gguf::TensorInfo& tensor, std::string_view because) {
    log_.error(Scope::model, "loader-tensor-shape", fmt::format("has shape {}, but {}", shape_text(tensor.ne), because),
               at_tensor(tensor.name), tensor.info_offset);
  }

  void check_ne(std::string_view name, std::size_t dimension, u64 size, std::string_view whose) {
    const gguf::TensorInfo* tensor = index_.tensor(name);
    if (tensor == nullptr || (dimension < tensor->ne.size() ? tensor->ne[dimension] : 1) == size) return;
    wrong_shape(*tensor, fmt::format("{} implies an ne{} of {}", whose, dimension, size));
  }

  void check_shapes(u64 width) {
    const std::string whose = fmt::format("'{}'", key("embedding_length"));
    if (row_->layers != EncoderLayers::own) {
      for (u64 layer = 0; layer < layers_; ++layer) check_layer(layer, width, whose);
    }
    for (const std::string_view name : {"pre_ln.weight", "post_ln.weight"}) {
      check_ne(std::string(encoder_.prefix) + std::string(name), 0, width, whose);
    }
    check_biases();
    check_projector(width, whose);
    if (encoder_.name == "vision" && row_->has_plain_patches) check_patches(width);
  }

  void check_layer(u64 layer, u64 width, const std::string& whose) {
    const auto check = [&](std::string_view name, std::size_t dimension, u64 size) {
      check_ne(in_layer(layer, name), dimension, size, whose);
    };
    for (const std::string_view name : {"attn_q.weight", "attn_k.weight", "attn_v.weight", "attn_out.weight"}) {
      check(name, 0, width);
      check(name, 1, width);
    }
    check("attn_qkv.weight", 0, width);
    if (const auto three = checked_mul(width, 3)) check("attn_qkv.weight", 1, *three);
    for (const std::string_view name : {"ln1.weight", "ln2.weight"}) check(name, 0, width);
    const gguf::TensorInfo* up = index_.tensor(in_layer(layer, "ffn_up.weight"));
    const gguf::TensorInfo* down = index_.tensor(in_layer(layer, "ffn_down.weight"));
    if (up == nullptr || down == nullptr || up->ne.size() != 2 || down->ne.size() != 2) return;
    // Old files swap the two names, which llama.cpp corrects.
    const bool is_swapped = down->ne[0] == width && up->ne[0] != width;
    const gguf::TensorInfo& in = is_swapped ? *down : *up;
    const gguf::TensorInfo& out = is_swapped ? *up : *down;
    check_ne(in.name, 0, width, whose);
    check_ne(out.name, 1, width, whose);
    check_ne(out.name, 0, in.ne[1], fmt::format("'{}'", in.name));
  }

  // A bias must have one element per row of its matrix, or per element of its norm.
  void check_biases() {
    constexpr std::string_view ending = ".bias";
    const std::string layers = fmt::format("{}blk.", encoder_.prefix);
    for (const gguf::TensorInfo& tensor : document_.tensors) {
      const std::string_view name = tensor.name;
      if (!name.ends_with(ending) || !(name.starts_with(layers) || name.starts_with("mm."))) continue;
      const gguf::TensorInfo* weight =
          index_.tensor(std::string(name.substr(0, name.size() - ending.size())) + ".weight");
      if (weight == nullptr || weight->ne.empty() || weight->ne.size() > 2) continue;
      const auto length = element_count(tensor.ne);
      if (length && *length != weight->ne.back()) {
        wrong_shape(tensor, fmt::format("'{}' implies {}", weight->name, counted(weight->ne.back(), "element")));
      }
    }
  }

  void check_projector(u64 width, const std::string& whose) {
    const gguf::TensorInfo* first = index_.tensor(row_->first);
    if (first == nullptr || first->ne.size() != 2) return;
    const u64 merged = arch::merged_patches(index_, *row_);
    const auto input = checked_product(std::array<u64, 3>{width, merged, merged});
    if (row_->merge.is_of_input && input && *input != 0) {
      check_ne(first->name, 0, *input, fmt::format("{} with {} × {} patches per token", whose, merged, merged));
    } else if (first->ne[0] % width != 0) {
      wrong_shape(*first, fmt::format("{} implies a multiple of {}", whose, width));
    }
    check_ne(row_->second, 0, first->ne[1], fmt::format("'{}'", first->name));
  }

  void check_patches(u64 width) {
    const u64 patch = number("patch_size").value_or(0);
    const auto pixels = checked_product(std::array<u64, 4>{patch, patch, 3, width});
    if (patch == 0 || !pixels) return;
    for (const std::string_view name : {"v.patch_embd.weight", "v.patch_embd.weight.1"}) {
      const gguf::TensorInfo* tensor = index_.tensor(name);
      if (tensor == nullptr || element_count(tensor->ne) == pixels) continue;
      wrong_shape(*tensor, fmt::format("'{}' and '{}' imply {}", key("patch_size"), key("embedding_length"),
                                       counted(*pixels, "element")));
    }
    check_ne("v.position_embd.weight", 0, width, fmt::format("'{}'", key("embedding_length")));
    const gguf::TensorInfo* positions = index_.tensor("v.position_embd.weight");
    const u64 side = number("image_size").value_or(0) / patch;
    const auto patches = checked_mul(side, side);
    if (!row_->has_fixed_grid || positions == nullptr || positions->ne.size() != 2 || !patches) return;
    const u64 needed = *patches + (has("v.class_embd") ? 1 : 0);
    if (positions->ne[1] < needed || (!row_->looks_up_positions && positions->ne[1] != needed)) {
      wrong_shape(*positions, fmt::format("'{}' and '{}' imply {} rows", key("image_size"), key("patch_size"), needed));
    }
  }

  const gguf::SetFile& file_;
  const gguf::Document& document_;
  const gguf::Index& index_;
  const Encoder& encoder_;
  FindingLog& log_;
  const Projector* row_ = nullptr;
  u64 seen_ = 0;    // layers among the tensors
  u64 layers_ = 0;  // layers that llama.cpp loads
  std::map<std::string_view, u64> in_layers_;
};

}  // namespace

FindingLog projector_findings(const gguf::SplitSet& set) {
  FindingLog log;
  const gguf::SetFile& file = set.files.front();
  const gguf::Document& document = file.document;
  const gguf::Index index(document);
  // llama.cpp reads projectors from one file only.
  if (index.architecture() != "clip" || set.is_split()) return log;
  bool has_both = true;
  for (const Encoder& encoder : arch::encoders) {
    const auto flag = index.bool_value(encoder.flag);
    const bool has_tensors = std::ranges::any_of(
        document.tensors, [&](const gguf::TensorInfo& tensor) { return tensor.name.starts_with(encoder.prefix); });
    // llama.cpp does not load Gemma 3n's audio encoder.
    const bool is_ignored =
        encoder.name == "audio" && arch::projector_type(index, arch::encoders.front()) == "gemma3nv";
    if (flag.value_or(has_tensors) && !is_ignored) EncoderRules(file, index, encoder, log).check();
    has_both = has_both && index.bool_value(encoder.flag).value_or(false) && !is_ignored;
  }
  if (has_both) gguf_rules::check_towers(index, log);
  return log;
}

}  // namespace modelutils
