// What a template writes of the tokens that begin and end texts, found without rendering it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "template/template.h"

namespace modelutils::jinja {

/// Does the template mention the variable, or have the text in what it writes or compares?
bool mentions(const Template& parsed, std::string_view variable, std::string_view text);

/// What looks like a special token in the text that the template writes: "<|im_end|>", "[INST]". Each once, in the
/// order of the template; the first few hundred.
std::vector<std::string> written_markers(const Template& parsed);

/// A token BOS that programs do not take out of a prompt before they add theirs.
struct LateBos {
  bool is_repeated = false;  ///< it follows another one, at the very beginning; else there is text before it
  std::size_t at = 0;        ///< byte in the source as Jinja reads it
};

/// The first one in what every prompt, or every prompt of one branch, begins with. `bos`: the token's text. What
/// follows a value that only a conversation has is not looked at.
std::optional<LateBos> late_bos(const Template& parsed, std::string_view bos);

}  // namespace modelutils::jinja
