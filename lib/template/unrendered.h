// Text of a template that no prompt ever has, whatever the conversation.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "template/syntax.h"

namespace modelutils::jinja {

/// Is the value true or false whatever the conversation?
std::optional<bool> fixed_truth(const Expression& value);

/// Is there text as long as a sentence right in the body?
bool has_words(const Body& body);

/// Text as long as a sentence that is given a name which nothing reads.
struct UnusedText {
  std::string name;  ///< of the variable or macro, of the attribute of a namespace
  std::size_t at = 0;
  bool is_macro = false;
};

/// In the order of the template. What only another unused name reads is unused, too. Time in proportion to the
/// template.
std::vector<UnusedText> unused_texts(const Body& body);

}  // namespace modelutils::jinja
