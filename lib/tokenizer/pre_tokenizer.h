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
/// (canonical) regex, `T(text)` of a plain text, `D1` / `D*` Digits one by one / in runs, `P` Punctuation, `B+` / `B-`
/// ByteLevel with / without its own regex, `M` Metaspace, others by name.
using PreSignature = std::vector<std::string>;

PreSignature pre_signature(json::Element tokenizer_json);

/// The signature on one line, for messages and tests.
std::string signature_text(const PreSignature& signature);

/// A regex in the form that the table compares: line feeds, carriage returns and tabs as escapes, the two spellings of
/// the English contractions as <C>, `'(?i:[sdmt]|ll|ve|re)` as <C2>, possessive quantifiers as plain ones, no `{1}`.
std::string canonical_regex(std::string_view regex);

/// What decides between rows of the table that share a signature.
struct PreFacts {
  bool ignore_merges = false;        ///< model.ignore_merges
  std::optional<bool> clean_spaces;  ///< tokenizer_config.json clean_up_tokenization_spaces
  bool has_gmask = false;            ///< an added token [gMASK]
  bool roberta = false;              ///< the post-processor is RobertaProcessing
  bool nfc = false;                  ///< the normalizer is NFC
  std::string architecture;          ///< config.json architectures[0]
};

/// The first row of the table that matches. Error "hf-tok-pre-unknown" with the signature and the nearest row.
Result<std::string> recognise_pre(const PreSignature& signature, const PreFacts& facts);

/// One value of tokenizer.ggml.pre that llama.cpp knows.
struct KnownPre {
  std::string_view name;
  bool newer = false;          ///< not known to builds of February 2025, which refuse such a file
  bool ignore_merges = false;  ///< what the loader takes from the name
  bool add_bos = false;        ///< the loader's default for add_bos_token
};

/// Nothing for names that llama.cpp does not know.
std::optional<KnownPre> known_pre(std::string_view name);

}  // namespace modelutils::tokenizer
