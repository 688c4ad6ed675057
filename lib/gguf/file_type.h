// llama.cpp's names for quantisation mixes (general.file_type).
#pragma once

#include <string_view>

#include "base/types.h"

namespace modelutils::gguf {

/// Returns "Q4_K_M" for 15; empty for unassigned codes. Source: llama.cpp's enum llama_ftype. Ignores bit 1024
/// (LLAMA_FTYPE_GUESSED).
std::string_view file_type_name(u64 code);

}  // namespace modelutils::gguf
