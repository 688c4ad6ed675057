// The mixes of quantisation that llama.cpp gives a name: general.file_type.
#pragma once

#include <string_view>

#include "base/types.h"

namespace modelutils::gguf {

/// "Q4_K_M" for 15; empty for codes that have no meaning. Source: llama.cpp's enum llama_ftype. Bit 1024 of the value
/// (LLAMA_FTYPE_GUESSED) is ignored.
std::string_view file_type_name(u64 code);

}  // namespace modelutils::gguf
