// The table of pre-tokenizers (docs/tokenizers.md).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"

namespace modelutils::tokenizer {

/// The flattened pre_tokenizer, one element for each component: `S(regex)` a Split that isolates the matches of a
/// regex (in the form of regex_form()), also of a plain text, `D1` / `D*` Digits one by one / in runs, `P` Punctuation,
/// `B+` / `B-` ByteLevel with / without its own regex, `M` Metaspace, others by name.
using PreSignature = std::vector<std::string>;

/// The signature on one line, for messages and tests.
std::string signature_text(const PreSignature& signature);

/// What must hold besides the signature.
enum class PreWhen : u8 {
  always,
  gmask,           ///< an added token [gMASK]
  ignore_merges,   ///< model.ignore_merges
  family_cleaned,  ///< the family's own, and clean_up_tokenization_spaces true
  family_tidy,     ///< the family's own, and as `tidy`
  tidy,            ///< clean_up_tokenization_spaces false, or normalizer NFC
  clean_off,       ///< clean_up_tokenization_spaces false
  roberta,         ///< post-processor RobertaProcessing
};

/// One row. Elements are those of a signature; "^text" stands for any element that begins with text, "~text" for any
/// that holds it.
struct PreRow {
  PreSignature signature;
  std::vector<std::string> regexes;  ///< for each element: of a Split the regex as it is published, else empty
  PreWhen when = PreWhen::always;
  std::string_view pre;
  std::string_view models;   ///< for messages
  std::string_view differs;  ///< which texts llama.cpp splits differently all the same, if any
};

/// All rows in the order in which they are tried.
const std::vector<PreRow>& pre_table();

/// The way back: the first row of a name, or of the name that stands for the same split; nullptr if the table has none
/// ("default", "whitespace").
const PreRow* find_pre_row(std::string_view pre);

}  // namespace modelutils::tokenizer
