// Numbers with their nouns, and what is said of files that are cut off, for messages.
#pragma once

#include <string>
#include <string_view>

#include "base/types.h"

namespace modelutils {

/// "1,234,567"
std::string thousands(u64 number);
void append_thousands(std::string& out, u64 number);

/// "1 error", "2 errors", "0 errors"; for other plurals counted(3, "entry", "entries").
std::string counted(u64 number, std::string_view noun);
std::string counted(u64 number, std::string_view noun, std::string_view plural);

/// The form of a verb that goes with a number: verb(1, "needs", "need").
inline std::string_view verb(u64 number, std::string_view one, std::string_view many) {
  return number == 1 ? one : many;
}

/// "incomplete: 50,000 of 241,504 bytes (21 %); download it again": of a file that has `have` bytes where its header
/// asks for `needed`. `at_least`: "… of at least …", where even more may be missing.
std::string incomplete_text(u64 have, u64 needed, bool at_least = false);

}  // namespace modelutils
