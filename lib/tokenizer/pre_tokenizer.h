// tokenizer.ggml.pre: which of llama.cpp's pre-tokenizers splits text as tokenizer.json does.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "json/reader.h"

namespace modelutils::tokenizer {

/// The flattened pre_tokenizer, one element for each component: `S(regex)` a Split that isolates the matches of a
/// regex (in the form of regex_form()), also of a plain text, `D1` / `D*` Digits one by one / in runs, `P` Punctuation,
/// `B+` / `B-` ByteLevel with / without its own regex, `M` Metaspace, others by name.
using PreSignature = std::vector<std::string>;

PreSignature pre_signature(json::Element tokenizer_json);

/// The signature on one line, for messages and tests.
std::string signature_text(const PreSignature& signature);

/// What decides between rows of the table that share a signature.
struct PreFacts {
  bool ignore_merges = false;        ///< model.ignore_merges
  std::optional<bool> clean_spaces;  ///< tokenizer_config.json clean_up_tokenization_spaces
  bool has_gmask = false;            ///< an added token [gMASK]
  bool roberta = false;              ///< the post-processor is RobertaProcessing
  bool nfc = false;                  ///< the normalizer is NFC
  std::string architecture;          ///< config.json architectures[0]
};

struct PreRow;

/// The first row of the table that matches, with parts that mean the same taken for equal: ByteLevel with its own regex
/// is a Split by that regex, Digits one by `\\p{N}`. Error "hf-tok-pre-unknown" with the signature and the nearest row.
Result<const PreRow*> recognise_pre(const PreSignature& signature, const PreFacts& facts);

/// One value of tokenizer.ggml.pre that llama.cpp knows.
struct KnownPre {
  std::string_view name;
  bool newer = false;             ///< not known to builds of February 2025, which refuse such a file
  bool ignore_merges = false;     ///< what the loader takes from the name
  bool add_bos = false;           ///< the loader's default for add_bos_token
  std::string_view same_as = {};  ///< the name in the table of pre-tokenizers (pre_table.h) that splits text alike
};

/// How many digits a pre-tokenizer leaves together: 1, 3, or 0 for any number (or a number that depends on more).
u32 digits_together(std::string_view pre);

/// Does llama.cpp take spaces away before punctuation when it makes text of tokens? True of no pre-tokenizer ("").
bool tidies_spaces(std::string_view pre);

/// Nothing for names that llama.cpp does not know.
std::optional<KnownPre> known_pre(std::string_view name);

}  // namespace modelutils::tokenizer
