// One form for regexes that split text alike.
#pragma once

#include <string>
#include <string_view>

namespace modelutils::tokenizer {

/// A regex of a pre-tokenizer in the form that is compared. Two regexes with the same form match the same pieces:
///
/// - the members of a character class in order, ranges joined, `[x]` as `x`, `[^\s]` as `\S`, all five letter
/// categories as
///   `\p{L}` (likewise N, M, P, S), `\d` as `\p{Nd}`;
/// - control characters as escapes, needless escapes and groups gone, captures as plain groups;
/// - `(?i:…)` as classes of both cases (ASCII);
/// - `{1}` gone, `{0,1}` `{0,}` `{1,}` as `?` `*` `+`, possessive quantifiers as plain ones (they differ only where a
///   match would have to be given up, which no pre-tokenizer's regex relies on); `{1,3}+` as `+`, because Oniguruma,
///   which Hugging Face's tokenizers use, repeats it;
/// - the English contractions 's 't 're 've 'm 'll 'd, however they are grouped, as `<c>`, or `<C>` for both cases;
/// - `\s*[\r\n]+` as `\s*[\n\r]` (the run of spaces has taken all line ends but the last), `\s` after `\s+(?!\S)` as
///   `\s+`, `\s+$` before it left out.
///
/// A regex that is not understood (named groups, back references, deeper than 32 groups, longer than 16 KiB) is given
/// back with line ends and tabs as escapes. Linear time but for the small finite sets of words (at most 64 each).
std::string regex_form(std::string_view regex);

/// `text` as a regex that matches exactly it.
std::string regex_of_text(std::string_view text);

}  // namespace modelutils::tokenizer
