#include "model/listing/image_facts.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "arch/names.h"
#include "base/text.h"

namespace modelutils {

namespace {

// The role of a tensor in a block: the first row with a part of its name.
struct RoleRow {
  std::string_view name;
  std::string_view parts;  // separated by spaces
};
constexpr RoleRow role_rows[] = {
    {"norms", "norm .ln_q .ln_k .scale"},
    {"modulation", ".mod.lin img_mod. txt_mod. modulation modX modC modF adaLN adaln scale_shift_table emb_layers"},
    {"attention and feed-forward", ".linear1. .linear2."},
    {"attention", "attn attention .to_q. .to_k. .to_v. .to_out."},
    {"feed-forward", "mlp .ffn. .ff. .ff_i. .ff_context. feed_forward"},
};
// The order in which roles are listed.
constexpr std::string_view roles_in_order[] = {"attention",  "feed-forward", "attention and feed-forward",
                                               "modulation", "other blocks", "norms",
                                               "biases",     "scales",       "outside of blocks"};

std::string_view role_of(std::string_view name, bool is_in_block) {
  if (arch::is_in_image_list("scale_weight scale_input weight_scale input_scale scaled_fp8", name)) return "scales";
  if (name.ends_with(".bias")) return "biases";
  if (!is_in_block) return "outside of blocks";
  for (const RoleRow& row : role_rows) {
    if (arch::is_in_image_list(row.parts, name)) return row.name;
  }
  return "other blocks";
}

bool is_word_of(std::string_view list, std::string_view wanted) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(' '), list.size());
    if (list.substr(0, end) == wanted) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

struct Block {
  std::string_view stack;
  u64 number = 0;
};
// Splits "double_blocks.12.img_mlp.0.weight" into "double_blocks" and 12; nullopt for tensors outside of the stacks.
std::optional<Block> block_of(std::string_view stacks, std::string_view name) {
  constexpr u64 most = 4096;
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos || !is_word_of(stacks, name.substr(0, dot))) return std::nullopt;
  const std::optional<arch::LayerName> block = arch::layer_name(name.substr(dot), ".");
  if (!block || block->layer >= most) return std::nullopt;
  return Block{name.substr(0, dot), block->layer};
}

// Returns a dimension in PyTorch's order; 0 if there is none.
u64 dimension(const ImageEntry& tensor, std::size_t number) {
  return number < tensor.ne.size() ? tensor.ne[tensor.ne.size() - 1 - number] : 0;
}

class FactsBuilder {
 public:
  FactsBuilder(const arch::ImageLayout& layout, std::span<const ImageEntry> tensors) : layout_(layout) {
    facts_.architecture = layout.model->name;
    facts_.title = layout.model->title;
    own_.reserve(tensors.size());
    for (const ImageEntry& tensor : tensors) add(tensor);
  }

  ImageFacts facts(std::span<const std::string> words) {
    for (const Own& tensor : own_) count(tensor);
    const arch::ImageModel& model = *layout_.model;
    arch::ImageSizes sizes;
    for_each_name(model.input_tensor, [&](std::string_view name) {
      if (const ImageEntry* tensor = find(name)) {
        sizes.width = dimension(*tensor, 0);
        sizes.inputs = dimension(*tensor, 1);
      }
    });
    for_each_name(model.text_tensor, [&](std::string_view name) {
      if (const ImageEntry* tensor = find(name)) sizes.text = dimension(*tensor, 1);
    });
    const auto known = [](u64 size) { return size == 0 ? std::nullopt : std::optional(size); };
    facts_.width = known(sizes.width);
    facts_.inputs = known(sizes.inputs);
    facts_.text_width = known(sizes.text);
    describe(sizes, words);
    return std::move(facts_);
  }

 private:
  // A tensor of the model itself under the reference's name.
  struct Own {
    std::string name;
    const ImageEntry* entry;
  };

  void add(const ImageEntry& tensor) {
    if (!tensor.name.starts_with(layout_.prefix)) {
      ++rest_[std::string(arch::image_part_of(tensor.name))];
      return;
    }
    std::string name(tensor.name.substr(layout_.prefix.size()));
    if (layout_.names != nullptr) {
      if (auto place = arch::image_place(*layout_.names, name)) name = std::move(place->name);
    }
    own_.push_back({std::move(name), &tensor});
  }

  const ImageEntry* find(std::string_view name) const {
    const auto found = std::ranges::find(own_, name, &Own::name);
    return found == own_.end() ? nullptr : found->entry;
  }

  void count(const Own& tensor) {
    const auto block = block_of(layout_.model->stacks, tensor.name);
    if (block) {
      auto stack = std::ranges::find(facts_.stacks, block->stack, &ImageStack::name);
      if (stack == facts_.stacks.end()) {
        facts_.stacks.push_back({std::string(block->stack), 0});
        stack = std::prev(facts_.stacks.end());
      }
      stack->blocks = std::max(stack->blocks, block->number + 1);
    }
    RoleType& total = roles_[role_of(tensor.name, block.has_value())][tensor.entry->type];
    total.type = tensor.entry->type;
    ++total.tensors;
    total.bytes += tensor.entry->bytes;
  }

  void describe(const arch::ImageSizes& sizes, std::span<const std::string> words) {
    const arch::ImageModel& model = *layout_.model;
    facts_.text_encoders = model.text_encoders;
    facts_.vae = model.vae;
    std::vector<std::string_view> names;
    for (const Own& tensor : own_) names.push_back(tensor.name);
    for (const arch::ImageVariant* variant : arch::image_variants(model, names, sizes, words)) {
      facts_.variants.push_back(variant->name);
      if (!variant->text_encoders.empty()) facts_.text_encoders = variant->text_encoders;
      if (!variant->vae.empty()) facts_.vae = variant->vae;
    }
    std::ranges::stable_sort(facts_.stacks, {}, [&](const ImageStack& stack) { return model.stacks.find(stack.name); });
    for (const std::string_view name : roles_in_order) {
      const auto role = roles_.find(name);
      if (role == roles_.end()) continue;
      ImageRole& listed = facts_.roles.emplace_back();
      listed.name = name;
      for (const auto& [type, total] : role->second) listed.types.push_back(total);
      std::ranges::stable_sort(listed.types, std::greater{}, &RoleType::bytes);
    }
    for (const auto& [part, tensors] : rest_) facts_.rest.push_back({part, tensors});
  }

  const arch::ImageLayout& layout_;
  std::vector<Own> own_;
  std::map<std::string_view, std::map<std::string_view, RoleType>> roles_;
  std::map<std::string, u64> rest_;
  ImageFacts facts_;
};

}  // namespace

ImageFacts image_facts(const arch::ImageLayout& layout, std::span<const ImageEntry> tensors,
                       std::span<const std::string> words) {
  return FactsBuilder(layout, tensors).facts(words);
}

}  // namespace modelutils
