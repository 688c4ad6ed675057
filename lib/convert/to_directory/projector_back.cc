#include "convert/to_directory/projector_back.h"

#include <fmt/core.h>

#include <algorithm>

#include "arch/projectors.h"
#include "base/text.h"
#include "base/types.h"
#include "convert/to_directory/tower_reverser.h"
#include "formats/gguf/parse.h"
#include "formats/hf/config.h"

namespace modelutils {

namespace {

// Sets the members that hold token ids ("image_token_id=<image>|…"), by looking up the texts in the vocabulary.
Status set_tokens(std::string_view list, const gguf::SplitSet& set, hf::ConfigMembers& config) {
  const gguf::SetFile& file = set.files.front();
  const gguf::Index index(file.document);
  const gguf::ArrayRef* tokens = index.array_value("tokenizer.ggml.tokens");
  if (list.empty() || tokens == nullptr || tokens->element_type != gguf::ValueType::string) return {};
  return gguf::visit_strings(*file.source, file.document, *tokens, [&](u64 id, std::string_view text, u64) {
    for_each_name(list, [&](std::string_view entry) {
      std::string_view token = entry;
      const std::string_view member = arch::take_until(token, "=");
      if (token == text) hf::set_member(config, member, id);
    });
    return true;
  });
}

// True if a class has both towers.
bool share_class(const arch::ProjectorFamily& one, const arch::ProjectorFamily& other) {
  bool is_shared = false;
  for_each_name(one.rows.classes,
                [&](std::string_view name) { is_shared |= arch::has_name(other.rows.classes, name); });
  return is_shared;
}

// Returns the families of a file's towers. Several classes may share a type of tower; if the file has two towers,
// chooses two families of the same class. Error "convert-projector": no tower, or one of an unknown type.
Result<std::vector<const arch::ProjectorFamily*>> families_of(const gguf::Index& index, const std::string& path) {
  std::vector<std::vector<const arch::ProjectorFamily*>> candidates;
  for (const arch::Encoder& encoder : arch::encoders) {
    if (!index.bool_value(encoder.flag).value_or(false)) continue;
    const auto type = arch::projector_type(index, encoder);
    candidates.push_back(arch::projector_families_of(type.value_or(""), encoder.name));
    if (!candidates.back().empty()) continue;
    return input_error("convert-projector",
                       fmt::format("has a projector of type '{}', which cannot be converted back", type.value_or("")),
                       {}, {}, path);
  }
  if (candidates.empty()) {
    return input_error("convert-projector", "has neither a vision nor an audio tower", {}, {}, path);
  }
  if (candidates.size() > 1) {
    for (const arch::ProjectorFamily* first : candidates.front()) {
      for (const arch::ProjectorFamily* second : candidates.back()) {
        if (share_class(*first, *second)) return std::vector{first, second};
      }
    }
  }
  std::vector<const arch::ProjectorFamily*> families;
  for (const auto& list : candidates) {
    const auto alone = std::ranges::find_if(list, [](const auto* family) { return family->joint_type.empty(); });
    families.push_back(alone == list.end() ? list.front() : *alone);
  }
  return families;
}

// Moves everything except the class into one member, whose model_type has that member's name as suffix:
// "qwen3_omni_moe", with a "thinker_config" of type "qwen3_omni_moe_thinker".
hf::ConfigMembers inside(std::string_view object, hf::ConfigMembers whole) {
  constexpr std::string_view suffix = "_config";
  hf::ConfigMembers outer;
  hf::ConfigMembers inner;
  for (hf::ConfigMember& member : whole) {
    if (member.name == "model_type") {
      const auto* type = std::get_if<std::string>(&member.value.value);
      const std::string_view part = object.substr(0, object.size() - std::min(object.size(), suffix.size()));
      hf::set_member(inner, member.name, fmt::format("{}_{}", type == nullptr ? "" : *type, part));
      outer.push_back(std::move(member));
    } else if (member.name == "architectures" || member.name == "enable_audio_output") {
      outer.push_back(std::move(member));
    } else {
      inner.push_back(std::move(member));
    }
  }
  hf::set_member(outer, object, std::move(inner));
  return outer;
}

// Classes that share a tower differ in the model_type of mlx-vlm's vision_config. Replaces the tower's model_type there
// by the text model's.
void name_tower_as_text(hf::ConfigMembers& config, std::string_view of_tower, std::string_view of_text) {
  for (hf::ConfigMember& member : config) {
    auto* vision = member.name == "vision_config" ? std::get_if<hf::ConfigMembers>(&member.value.value) : nullptr;
    if (vision == nullptr) continue;
    const hf::ConfigValue* type = hf::find_member(*vision, "model_type");
    const auto* name = type == nullptr ? nullptr : std::get_if<std::string>(&type->value);
    if (name != nullptr && *name == of_tower) hf::set_member(*vision, "model_type", of_text);
  }
}

}  // namespace

Result<ProjectorBack> map_projector_back(const gguf::SplitSet& set, const Catalog& catalog, const TextSide& text,
                                         DirectoryStyle style) {
  const std::string& path = set.files.front().path;
  const gguf::Index index(set.files.front().document);
  const auto refuse = [&](std::string message) {
    return input_error("convert-projector", std::move(message), {}, {}, path);
  };
  if (index.architecture() != "clip") return refuse("is not a projector: its general.architecture is not 'clip'");
  ProjectorBack back;
  back.text_object = "text_config";
  std::vector<bool> used(catalog.tensors.size(), false);
  MU_ASSIGN(const std::vector<const arch::ProjectorFamily*> families, families_of(index, path));
  const arch::ProjectorFamily* first = families.front();
  for (const arch::ProjectorFamily* family : families) {
    TowerReverser reverser(*family, set, index, catalog, text.set, style == DirectoryStyle::mlx);
    MU_TRY(reverser.add_to(back, used));
    MU_TRY(set_tokens(family->token_members, text.set, back.config));
  }
  const auto unused = std::ranges::find(used, false);
  if (unused != used.end()) {
    return input_error("convert-unmapped", fmt::format("has no place in a projector of type {}", first->rows.name),
                       at_tensor(catalog.tensors[static_cast<std::size_t>(unused - used.begin())].name), {}, path);
  }
  const arch::ConfigForm& form = first->rows.config;
  if (form.fields.empty()) {
    return refuse(
        fmt::format("has a projector of type '{}', for which no config.json can be written", first->rows.name));
  }
  if (back.class_name.empty() && !arch::has_name(first->rows.classes, text.class_name)) {
    back.class_name = arch::first_name(first->rows.classes);
    back.model_type = form.model_type;
  } else if (back.class_name.empty()) {
    name_tower_as_text(back.config, form.model_type, text.model_type);
  }
  if (!first->text_object.empty()) back.text_object = first->text_object;
  back.outer_object = first->outer_object;
  if (back.text_model_type.empty()) back.text_model_type = form.text_model_type;
  back.text_prefix = style == DirectoryStyle::mlx ? form.mlx_text_prefix : form.hf_text_prefix;
  return back;
}

hf::ConfigMembers joined_config(const ProjectorBack& back, hf::ConfigMembers text) {
  hf::ConfigMembers whole;
  hf::ConfigMembers inner;
  constexpr std::string_view outside = "bos_token_id|pad_token_id|eos_token_id";
  const bool is_wrapped = hf::find_member(text, "text_config") != nullptr;
  for (hf::ConfigMember& member : text) {
    if (is_wrapped && member.name == "text_config") {
      inner = std::get<hf::ConfigMembers>(std::move(member.value.value));
    } else if (is_wrapped || arch::has_name(outside, member.name)) {
      whole.push_back(std::move(member));
    } else {
      if (member.name == "tie_word_embeddings") whole.push_back(member);
      inner.push_back(std::move(member));
    }
  }
  if (!back.class_name.empty()) {
    hf::set_member(whole, "architectures", hf::config_list(std::vector<std::string>{back.class_name}));
    hf::set_member(whole, "model_type", back.model_type);
    if (!back.text_model_type.empty()) hf::set_member(inner, "model_type", back.text_model_type);
  }
  for (const hf::ConfigMember& member : back.config) hf::set_member(whole, member.name, member.value);
  if (arch::has_name(back.text_object, arch::top_level)) {
    for (const hf::ConfigMember& member : inner) {
      if (hf::find_member(whole, member.name) == nullptr) whole.push_back(member);
    }
  }
  if (back.text_object != arch::top_level) {
    hf::set_member(whole, arch::first_name(back.text_object), std::move(inner));
  }
  return back.outer_object.empty() ? std::move(whole) : inside(back.outer_object, std::move(whole));
}

std::string name_in_model(const ProjectorBack& back, std::string name) {
  constexpr std::string_view model = "model.";
  constexpr std::string_view wrapper = "language_model.";
  if (!back.outer_object.empty()) {
    // "model.language_model.layers" and "language_model.model.layers" are both "model.layers" there.
    if (const std::size_t at = name.find(wrapper); at != std::string::npos) name.erase(at, wrapper.size());
  }
  std::string_view of_head = back.text_prefix;
  const std::string_view prefix = arch::take_until(of_head, "|");
  // A class that is multimodal by itself may have the prefix already.
  if (back.text_prefix.empty() || name.find(wrapper) != std::string::npos) return name;
  if (name.starts_with(model)) {
    name.replace(0, model.size(), prefix);
  } else if (!of_head.empty()) {
    name.insert(0, of_head);
  } else if (prefix.starts_with(wrapper)) {
    name.insert(0, wrapper);
  }
  return name;
}

}  // namespace modelutils
