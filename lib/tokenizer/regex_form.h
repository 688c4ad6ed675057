// A canonical form for regexes, to find those that split text alike.
#pragma once

#include <string>
#include <string_view>

namespace modelutils::tokenizer {

/// Returns a pre-tokenizer's regex in its canonical form. Two regexes with the same form match the same pieces:
///
/// - the members of a character class are in order and ranges are joined; `[x]` becomes `x`, `[^\s]` becomes `\S`, all
/// five letter categories become `\p{L}` (likewise N, M, P, S), `\d` becomes `\p{Nd}`;
/// - control characters become escapes; needless escapes and groups are removed, captures become plain groups;
/// - `(?i:…)` becomes classes of both cases (ASCII);
/// - `{1}` is removed; `{0,1}` `{0,}` `{1,}` become `?` `*` `+`; possessive quantifiers become plain ones (they differ
/// only if a match must backtrack, which no pre-tokenizer's regex needs); `{1,3}+` becomes `+`, because Oniguruma,
/// which Hugging Face's tokenizers use, repeats it;
/// - the English contractions 's 't 're 've 'm 'll 'd, in any grouping, become `<c>`, or `<C>` for both cases;
/// - `\s*[\r\n]+` becomes `\s*[\n\r]` (the run of spaces has consumed all line ends but the last), `\s` after
/// `\s+(?!\S)` becomes `\s+`, and `\s+$` before it is removed.
///
/// A regex that cannot be parsed (named groups, back references, more than 32 nested groups, more than 16 KiB) is
/// returned with line ends and tabs as escapes. Takes linear time, except for small finite sets of words (at most 64
/// each).
std::string regex_form(std::string_view regex);

/// Returns a regex that matches exactly `text`.
std::string regex_of_text(std::string_view text);

}  // namespace modelutils::tokenizer
