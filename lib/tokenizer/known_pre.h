// All values of tokenizer.ggml.pre that llama.cpp knows, and the settings that its loader derives from them.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "base/types.h"

namespace modelutils::tokenizer {

/// One value of tokenizer.ggml.pre known to llama.cpp.
struct KnownPre {
  std::string_view name;
  bool newer = false;             ///< unknown to builds of February 2025, which refuse such a file
  bool ignore_merges = false;     ///< the loader's setting for this name
  bool add_bos = false;           ///< the loader's default for add_bos_token
  std::string_view same_as = {};  ///< name of the equivalent pre-tokenizer in pre_table.h, if it has another name there
};

/// Returns all rows of the table.
std::span<const KnownPre> all_known_pre();

/// Returns nullopt for names that llama.cpp does not know.
std::optional<KnownPre> known_pre(std::string_view name);

/// True if llama.cpp knows `name` as a value of tokenizer.ggml.pre; these are the names that --pre accepts.
bool is_known_pre(std::string_view name);

/// Returns the number of digits that a pre-tokenizer keeps together: 1, 3, or 0 if it is unlimited or varies.
u32 digits_together(std::string_view pre);

/// True if vocabularies with this pre-tokenizer expect composed characters (NFC), in every model.
bool composes(std::string_view pre);

/// True if llama.cpp removes spaces before punctuation when it decodes tokens. False for an empty name.
bool tidies_spaces(std::string_view pre);

}  // namespace modelutils::tokenizer
