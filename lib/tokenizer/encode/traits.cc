#include "tokenizer/encode/traits.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>

#include "tokenizer/token_roles.h"

namespace modelutils::tokenizer {

namespace {

// Tokens for filling in the middle of a text. If no key names a token, the first text in the vocabulary counts.
struct FillRole {
  std::optional<u32> SpecialIds::*stated;
  std::array<std::string_view, 8> texts;
};
constexpr std::array fill_roles = {
    FillRole{&SpecialIds::fim_pre,
             {"<|fim_prefix|>", "<fim-prefix>", "<fim_prefix>", "<｜fim▁begin｜>", "<PRE>", "▁<PRE>", "<|code_prefix|>",
              "<|prefix|>"}},
    FillRole{&SpecialIds::fim_suf,
             {"<|fim_suffix|>", "<fim-suffix>", "<fim_suffix>", "<｜fim▁hole｜>", "<SUF>", "▁<SUF>", "<|code_suffix|>",
              "<|suffix|>"}},
    FillRole{&SpecialIds::fim_mid,
             {"<|fim_middle|>", "<fim-middle>", "<fim_middle>", "<｜fim▁end｜>", "<MID>", "▁<MID>", "<|code_middle|>",
              "<|middle|>"}},
    FillRole{&SpecialIds::fim_pad, {"<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]"}},
    FillRole{&SpecialIds::fim_rep, {"<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>"}},
    FillRole{&SpecialIds::fim_sep, {"<|file_sep|>"}},
};

constexpr std::array<std::string_view, 4> always_shown = {"<|channel|>", "<|message|>", "<|start|>", "<|constrain|>"};

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

void set_traits_by_text(EncodeVocabulary& vocabulary, const SpecialIds& stated) {
  const auto find = [&](std::string_view text) { return text.empty() ? std::nullopt : vocabulary.ids.find(text); };
  const auto set = [&](std::string_view text, u8 traits) {
    if (const auto id = find(text)) vocabulary.traits[*id] = traits;
  };
  for (const std::string_view text : end_texts()) {
    if (const auto id = find(text)) vocabulary.traits[*id] |= trait_control;
  }
  for (const FillRole& role : fill_roles) {
    if (stated.*role.stated) continue;
    std::optional<u32> first;
    for (const std::string_view text : role.texts) {
      const auto id = find(text);
      if (id && (!first || *id < *first)) first = id;
    }
    if (first) vocabulary.traits[*first] |= trait_control;
  }
  for (const std::string_view text : always_shown) set(text, trait_user_defined);
  const bool calls = find("<|call|>") || find("<|calls|>");
  if (calls && (find("<|return|>") || find("<|flush|>"))) set("<|end|>", trait_user_defined);
  if (find("<|tool_response>")) set("</s>", trait_normal);
}

void set_strips(EncodeVocabulary& vocabulary, const EncodeKeys& keys) {
  const auto set = [&](std::string_view text, u8 trait, bool value) {
    const auto id = vocabulary.ids.find(text);
    if (!id) return;
    u8& traits = vocabulary.traits[*id];
    traits = static_cast<u8>(value ? traits | trait : traits & ~trait);
  };
  std::string name = keys.name;
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return static_cast<char>(std::tolower(static_cast<u8>(c))); });
  const bool takes_before_mask = contains(keys.pre, "jina-v2-de") || contains(keys.pre, "jina-v2-es") ||
                                 contains(keys.pre, "jina-v2-code") || contains(keys.architecture, "nomic-bert-moe") ||
                                 contains(keys.architecture, "jina-bert-v3");
  if (takes_before_mask) {
    set("<mask>", trait_strips_left, true);
  } else if (promises_phi3_tokens(keys.name)) {
    for (u8& traits : vocabulary.traits) {
      if ((traits & (trait_control | trait_user_defined | trait_unknown)) != 0) traits |= trait_strips_right;
    }
    set("</s>", trait_strips_right, true);
    for (const std::string_view text : {"<unk>", "<s>", "<|endoftext|>"}) set(text, trait_strips_right, false);
  } else if (contains(name, "modern-bert")) {
    set("[MASK]", trait_strips_left, true);
  }
}

}  // namespace modelutils::tokenizer
