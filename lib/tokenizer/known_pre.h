// Every value of tokenizer.ggml.pre that llama.cpp knows.
#pragma once

#include <span>

#include "tokenizer/pre_tokenizer.h"

namespace modelutils::tokenizer {

std::span<const KnownPre> all_known_pre();

}  // namespace modelutils::tokenizer
