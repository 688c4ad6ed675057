// Static analysis of the texts of a template: the special tokens that it writes, and text that can never reach a
// prompt.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "template/syntax.h"
#include "template/template.h"

namespace modelutils::jinja {

// Finds text in a template that can never reach a prompt.

/// Returns the truth value of an expression if it is constant, else nullopt.
std::optional<bool> fixed_truth(const Expression& value);

/// True if the body directly contains text as long as a sentence.
bool has_words(const Body& body);

/// Text as long as a sentence, assigned to a name that is never read.
struct UnusedText {
  std::string name;  ///< variable, macro or namespace attribute
  std::size_t at = 0;
  bool is_macro = false;
};

/// Returns the unused texts of a template, in its order. A name read only by other unused names is unused, too. Takes
/// time proportional to the template's size.
std::vector<UnusedText> unused_texts(const Body& body);

/// True if the template mentions the variable, or writes or compares the text.
bool mentions(const Template& parsed, std::string_view variable, std::string_view text);

/// Returns texts that look like special tokens in the template's output ("<|im_end|>", "[INST]"), each once, in
/// template order, limited to the first few hundred.
std::vector<std::string> written_markers(const Template& parsed);

/// A BOS token that programs do not strip from the prompt before they add their own.
struct LateBos {
  bool is_repeated = false;  ///< it follows another BOS at the very beginning; otherwise it follows text
  std::size_t at = 0;        ///< byte in the normalized source
};

/// Returns the first late BOS in the fixed text at the beginning of each branch's prompt; nullopt if there is none.
/// `bos` is the token's text. The search stops at the first value that depends on the conversation.
std::optional<LateBos> late_bos(const Template& parsed, std::string_view bos);

}  // namespace modelutils::jinja
