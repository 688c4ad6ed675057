// Every value of tokenizer.ggml.pre that llama.cpp knows, and what its loader takes from it.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "base/types.h"

namespace modelutils::tokenizer {

/// One value of tokenizer.ggml.pre that llama.cpp knows.
struct KnownPre {
  std::string_view name;
  bool newer = false;             ///< not known to builds of February 2025, which refuse such a file
  bool ignore_merges = false;     ///< what the loader takes from the name
  bool add_bos = false;           ///< the loader's default for add_bos_token
  std::string_view same_as = {};  ///< the name in the table of pre-tokenizers (pre_table.h) that splits text alike
};

std::span<const KnownPre> all_known_pre();

/// Nothing for names that llama.cpp does not know.
std::optional<KnownPre> known_pre(std::string_view name);

/// Is `name` a value of tokenizer.ggml.pre that llama.cpp knows (what --pre accepts)?
bool is_known_pre(std::string_view name);

/// How many digits a pre-tokenizer leaves together: 1, 3, or 0 for any number (or a number that depends on more).
u32 digits_together(std::string_view pre);

/// Is it one of vocabularies that are made for composed characters (NFC), in whatever model?
bool composes(std::string_view pre);

/// Does llama.cpp take spaces away before punctuation when it makes text of tokens? True of no pre-tokenizer ("").
bool tidies_spaces(std::string_view pre);

}  // namespace modelutils::tokenizer
