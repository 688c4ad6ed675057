// The few texts that an expression may be, as far as a template says it without being rendered.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"

namespace modelutils::jinja {

/// A piece that is not known is `unknown_piece`.
using Texts = std::vector<std::string>;
constexpr char unknown_piece = '\1';

// A name that someone wants to hide is short, and few names are meant: more than this is not followed.
constexpr std::size_t most_texts = 4;
constexpr std::size_t most_bytes = 256;

Texts nothing_known();
/// If it is new and there is room; cut off above most_bytes.
void add_text(Texts& into, std::string text);
Texts each(const Texts& texts, const std::function<std::string(std::string)>& change);
/// Every left one followed by every right one.
Texts product(const Texts& left, const Texts& right);

// What Python's methods of these names do, of letters of ASCII.
std::string replaced(std::string_view text, std::string_view what, std::string_view by);
std::string cased(std::string text, bool upper);
std::string stripped(std::string text);

}  // namespace modelutils::jinja
