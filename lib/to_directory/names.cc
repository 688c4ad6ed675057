#include "to_directory/names.h"

#include <fmt/core.h>

namespace modelutils {

std::string DirectoryNames::layer_prefix(u64 layer) const {
  const bool is_hf = style_ == DirectoryStyle::hugging_face && !family_->hf_layer_prefix.empty();
  return fmt::format("{}{}.", is_hf ? family_->hf_layer_prefix : arch::first_name(family_->layer_prefixes), layer);
}

std::string DirectoryNames::of_part(const arch::ExpectedTensor& expected, const arch::SourcePart& part,
                                    u64 number) const {
  std::string module(part.module);
  if (part.is_stacked()) module.replace(module.find('#'), 1, std::to_string(number));
  const bool is_complete = expected.row->name.starts_with('@');
  // Hugging Face's expert stacks have no suffix.
  const bool is_stack = style_ == DirectoryStyle::hugging_face && !part.is_stacked() &&
                        part.module.find("experts.") != std::string_view::npos &&
                        part.module.find("shared_expert") == std::string_view::npos;
  const std::string_view suffix = is_complete                           ? std::string_view{}
                                  : expected.side == arch::Side::bias   ? ".bias"
                                  : is_stack && expected.ne.size() == 3 ? std::string_view{}
                                                                        : ".weight";
  const std::string prefix = expected.in_layer ? layer_prefix(expected.layer) : std::string();
  return prefix + module + std::string(suffix);
}

std::string DirectoryNames::published(std::string name) const {
  const arch::ConfigForm& form = family_->config;
  if (form.text_model_type.empty()) return name;
  constexpr std::string_view model = "model.";
  constexpr std::string_view wrapper = "language_model.";
  const std::string_view prefix = style_ == DirectoryStyle::mlx ? form.mlx_text_prefix : form.hf_text_prefix;
  if (name.starts_with(model)) {
    name.replace(0, model.size(), prefix);
  } else if (prefix.starts_with(wrapper)) {
    name.insert(0, wrapper);
  }
  return name;
}

}  // namespace modelutils
