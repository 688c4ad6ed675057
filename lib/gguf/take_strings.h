// Reads an array of strings in several steps without keeping what was read.
#pragma once

#include <functional>
#include <string_view>

#include "base/byte_source.h"
#include "base/error.h"
#include "gguf/document.h"

namespace modelutils::gguf {

/// Consumes a string and returns true, or returns false to stop before it.
using StringTaker = std::function<bool(std::string_view text)>;

/// Resumes reading an array of strings. `position` is 0 or the value left by an earlier call: a byte offset in the
/// array, equal to its size at the end. Stops after the last string consumed. Errors: read errors; "io-short" also if
/// no string begins at `position`.
Status take_strings(const ByteSource& source, const Document& document, const ArrayRef& array, u64& position,
                    const StringTaker& take);

}  // namespace modelutils::gguf
