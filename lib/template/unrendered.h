// Finds text in a template that can never reach a prompt.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "template/syntax.h"

namespace modelutils::jinja {

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

}  // namespace modelutils::jinja
