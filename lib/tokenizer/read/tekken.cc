#include "tokenizer/read/tekken.h"

#include <fmt/core.h>

#include <array>

#include "base/escape.h"
#include "base/name_index.h"

namespace modelutils::tokenizer {

namespace {

// The special tokens of versions without a list. Source: mistral-common.
constexpr std::array<std::string_view, 20> usual_special = {"<unk>",
                                                            "<s>",
                                                            "</s>",
                                                            "[INST]",
                                                            "[/INST]",
                                                            "[AVAILABLE_TOOLS]",
                                                            "[/AVAILABLE_TOOLS]",
                                                            "[TOOL_RESULTS]",
                                                            "[/TOOL_RESULTS]",
                                                            "[TOOL_CALLS]",
                                                            "[IMG]",
                                                            "<pad>",
                                                            "[IMG_BREAK]",
                                                            "[IMG_END]",
                                                            "[PREFIX]",
                                                            "[MIDDLE]",
                                                            "[SUFFIX]",
                                                            "[SYSTEM_PROMPT]",
                                                            "[/SYSTEM_PROMPT]",
                                                            "[TOOL_CONTENT]"};

tl::unexpected<Error> bad(std::string where, std::string message) {
  return input_error("hf-tok-tekken", std::move(message), std::move(where));
}

constexpr u64 max_special = u64{1} << 16;  // real files have 1000

struct Sizes {
  u64 all = 0, special = 0;
};

Result<Sizes> read_sizes(json::Element config, u64 rows) {
  const auto all = json::u64_member(config, "default_vocab_size");
  const auto special = json::u64_member(config, "default_num_special_tokens");
  if (!all || !special || *special > *all || *special > max_special) {
    return bad("config", fmt::format("must have a default_vocab_size and a default_num_special_tokens of at most that, "
                                     "and of at most {}",
                                     max_special));
  }
  if (*all > rows) {
    return input_error("hf-tok-id-range",
                       fmt::format("there are {} tokens, but the embedding has only {} rows", *all, rows), "config");
  }
  return Sizes{*all, *special};
}

Status name_special(std::vector<TekkenSpecial>& special, NameIndex& texts, u64 rank, std::string_view text,
                    bool is_control) {
  const std::string where = fmt::format("special_tokens: rank {}", rank);
  if (rank >= special.size()) return bad(where, fmt::format("there are {} special tokens", special.size()));
  TekkenSpecial& place = special[static_cast<std::size_t>(rank)];
  if (text.empty() || !place.text.empty() || !texts.insert(text).is_new) {
    return bad(where, text.empty() ? "has no text" : fmt::format("'{}' or its rank appears twice", text));
  }
  place = {std::string(text), is_control};
  return {};
}

Result<std::vector<TekkenSpecial>> read_special(json::Element root, u64 count) {
  std::vector<TekkenSpecial> special(static_cast<std::size_t>(count));
  NameIndex texts;
  const auto member = json::member(root, "special_tokens");
  json::Array list;
  if (!member || member->is_null()) {
    for (u64 rank = 0; rank < usual_special.size() && rank < count; ++rank) {
      special[static_cast<std::size_t>(rank)].text = usual_special[static_cast<std::size_t>(rank)];
    }
  } else if (!member->get(list)) {
    return bad("special_tokens", "must be an array");
  } else {
    for (const json::Element entry : list) {
      const auto rank = json::u64_member(entry, "rank");
      const auto text = json::string_member(entry, "token_str");
      if (!rank || !text) return bad("special_tokens", "must have a rank and a token_str each");
      MU_TRY(name_special(special, texts, *rank, *text, json::bool_member(entry, "is_control").value_or(true)));
    }
  }
  for (std::size_t rank = 0; rank < special.size(); ++rank) {
    if (special[rank].text.empty()) special[rank].text = fmt::format("<SPECIAL_{}>", rank);
  }
  return special;
}

Result<TiktokenVocabulary> read_ordinary(json::Element root, u64 count) {
  const auto list = json::array_member(root, "vocab");
  if (!list) return bad("vocab", "must be an array");
  const auto too_few = [&](u64 found) {
    return bad("vocab", fmt::format("has {} of the {} ranks that config asks for", found, count));
  };
  if (list->size() < count) return too_few(list->size());
  RankedTokens tokens(count);
  u64 index = 0, kept = 0;
  for (const json::Element entry : *list) {
    const std::string where = fmt::format("vocab[{}]", index++);
    const auto rank = json::u64_member(entry, "rank");
    const auto text = json::string_member(entry, "token_bytes");
    auto bytes = text ? decode_base64(*text) : std::nullopt;
    if (!rank || !bytes) return bad(where, "must have a rank and token_bytes in base64");
    if (*rank >= count) continue;  // the file has more tokens than the model uses
    Status added = tokens.add(*rank, std::move(*bytes));
    if (!added) {
      added.error().where = where;
      return tl::make_unexpected(std::move(added.error()));
    }
    ++kept;
  }
  if (kept != count) return too_few(kept);
  return tokens.finish();
}

}  // namespace

Result<TekkenVocabulary> parse_tekken(json::Element root, u64 rows) {
  const auto config = json::member(root, "config");
  const auto pattern = config ? json::string_member(*config, "pattern") : std::nullopt;
  if (!pattern) return bad("config", "must be an object with a pattern");
  MU_ASSIGN(const Sizes sizes, read_sizes(*config, rows));
  TekkenVocabulary vocabulary;
  vocabulary.pattern = *pattern;
  MU_ASSIGN(vocabulary.special, read_special(root, sizes.special));
  MU_ASSIGN(vocabulary.ordinary, read_ordinary(root, sizes.all - sizes.special));
  return vocabulary;
}

}  // namespace modelutils::tokenizer
