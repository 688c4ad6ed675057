// The table of pre-tokenizers (docs/tokenizers.md), and all values of tokenizer.ggml.pre that llama.cpp knows, with
// the settings that its loader derives from them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"

namespace modelutils::tokenizer {

// All values of tokenizer.ggml.pre that llama.cpp knows, and the settings that its loader derives from them.

/// One value of tokenizer.ggml.pre known to llama.cpp.
struct KnownPre {
  std::string_view name;
  bool newer = false;             ///< unknown to builds of February 2025, which refuse such a file
  bool ignore_merges = false;     ///< the loader's setting for this name
  bool add_bos = false;           ///< the loader's default for add_bos_token
  std::string_view same_as = {};  ///< name of the equivalent row of the table, if it has another name there
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

/// A flattened pre_tokenizer with one element per component: `S(regex)` is a Split that isolates the matches of a regex
/// (in the form of regex_form()) or of a plain text; `D1` / `D*` is Digits one by one / in runs; `P` Punctuation; `B+`
/// / `B-` ByteLevel with / without its own regex; `M` Metaspace; others have their names.
using PreSignature = std::vector<std::string>;

/// Returns the signature on one line, for messages and tests.
std::string signature_text(const PreSignature& signature);

/// Conditions of a row besides the signature.
enum class PreWhen : u8 {
  always,
  gmask,           ///< there is an added token [gMASK]
  ignore_merges,   ///< model.ignore_merges
  family_cleaned,  ///< the row's name is the family's own pre-tokenizer, and clean_up_tokenization_spaces is true
  family_tidy,     ///< the row's name is the family's own pre-tokenizer, and `tidy` holds
  tidy,            ///< clean_up_tokenization_spaces false, or normalizer NFC
  clean_off,       ///< clean_up_tokenization_spaces false
  roberta,         ///< post-processor RobertaProcessing
};

/// One row. Its elements are those of a signature, except that "^text" matches any element that begins with text, and
/// "~text" any element that contains it.
struct PreRow {
  PreSignature signature;
  std::vector<std::string> regexes;  ///< the published regex of each element that is a Split; else empty
  PreWhen when = PreWhen::always;
  std::string_view pre;
  std::string_view models;   ///< for messages
  std::string_view differs;  ///< texts that llama.cpp nevertheless splits differently, if any
};

/// Returns all rows in matching order.
const std::vector<PreRow>& pre_table();

/// The inverse: returns the first row of a name, or of the name for the same split; nullptr if the table has none
/// ("default", "whitespace").
const PreRow* find_pre_row(std::string_view pre);

}  // namespace modelutils::tokenizer
