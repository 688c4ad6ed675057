// Numbers with their nouns, and the text for truncated files, for messages.
#pragma once

#include <string>
#include <string_view>

#include "base/types.h"

namespace modelutils {

/// Returns the number with thousands separators: "1,234,567".
std::string thousands(u64 number);
void append_thousands(std::string& out, u64 number);

/// Returns "1 error", "2 errors" or "0 errors". For irregular plurals: counted(3, "entry", "entries").
std::string counted(u64 number, std::string_view noun);
std::string counted(u64 number, std::string_view noun, std::string_view plural);

/// Returns the verb form for a number: verb(1, "needs", "need") is "needs".
inline std::string_view verb(u64 number, std::string_view one, std::string_view many) {
  return number == 1 ? one : many;
}

/// Returns "incomplete: 50,000 of 241,504 bytes (21 %); download it again" for a file with `have` bytes whose header
/// requires `needed`. With `at_least`, "… of at least …": the header does not determine the full size.
std::string incomplete_text(u64 have, u64 needed, bool at_least = false);

}  // namespace modelutils
