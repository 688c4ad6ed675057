// Going through an array of strings in several steps, none of which keeps what it has read.
#pragma once

#include <functional>
#include <string_view>

#include "base/byte_source.h"
#include "base/error.h"
#include "gguf/document.h"

namespace modelutils::gguf {

/// Takes a string, or returns false and leaves it.
using StringTaker = std::function<bool(std::string_view text)>;

/// Goes on through an array of strings: `position` is 0 or what an earlier call made of it, which is the number of the
/// array's bytes at its end. Stops behind the last string that was taken. Errors: reading; "io-short" also for a
/// position where no string of the array begins.
Status take_strings(const ByteSource& source, const Document& document, const ArrayRef& array, u64& position,
                    const StringTaker& take);

}  // namespace modelutils::gguf
