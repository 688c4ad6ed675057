#include "hf/tensor_names.h"

#include <array>

namespace modelutils::hf {

std::string canonical_name(std::string_view name) {
  // "model.text_model.layers" appears in Idefics3 and SmolVLM.
  static constexpr std::array<std::string_view, 2> wrappers = {"language_model.", "text_model."};
  std::string out(name);
  for (const std::string_view wrapper : wrappers) {
    std::string kept;
    kept.reserve(out.size());
    std::string_view rest = out;
    for (std::size_t at = rest.find(wrapper); at != std::string_view::npos; at = rest.find(wrapper)) {
      kept += rest.substr(0, at);
      rest.remove_prefix(at + wrapper.size());
    }
    kept += rest;
    out = std::move(kept);
  }
  return out;
}

NameClass classify_name(std::string_view canonical) {
  static constexpr std::array<std::string_view, 6> other_modalities{"vision_tower",          "vision_model", "visual.",
                                                                    "multi_modal_projector", "mm_projector", "audio_"};
  static constexpr std::array<std::string_view, 3> predictions{"mtp.", "mtp_layers.", ".mtp_"};
  static constexpr std::array<std::string_view, 6> derived_endings{".rotary_emb.inv_freq",   ".rope.inv_freq",
                                                                   ".attention.masked_bias", ".attention.bias",
                                                                   ".attn.masked_bias",      ".attn.bias"};
  for (const std::string_view mark : other_modalities) {
    if (canonical.find(mark) != std::string_view::npos) return NameClass::other_modality;
  }
  for (const std::string_view mark : predictions) {
    if (canonical.find(mark) != std::string_view::npos) return NameClass::prediction;
  }
  for (const std::string_view ending : derived_endings) {
    if (canonical.ends_with(ending)) return NameClass::derived;
  }
  return NameClass::keep;
}

SplitName split_name(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return {name, Suffix::none};
  const std::string_view module = name.substr(0, dot);
  const std::string_view last = name.substr(dot + 1);
  if (last == "weight") return {module, Suffix::weight};
  if (last == "bias") return {module, Suffix::bias};
  if (last == "scales") return {module, Suffix::scales};
  if (last == "biases") return {module, Suffix::biases};
  return {name, Suffix::none};
}

}  // namespace modelutils::hf
