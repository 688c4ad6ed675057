// Literals as Python's repr() writes them, which is how RWKV's vocabulary lists its tokens.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace modelutils::tokenizer {

/// The bytes of a str literal ('a\u00e9', in UTF-8) or a bytes literal (b'\xff'), in single or double quotes, with the
/// escapes \\ \' \" \t \n \r \xHH, and in str \uXXXX and \UXXXXXXXX. Nothing if the text is not such a literal, or if a
/// str has a surrogate.
std::optional<std::string> python_literal(std::string_view text);

}  // namespace modelutils::tokenizer
