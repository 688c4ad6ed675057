// The tokenizer of a model directory: what it would be in a GGUF, and what st-dump --get gives of its files.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/safetensors_model.h"
#include "tokenizer/encode/keys.h"

namespace modelutils {

/// The keys that mlx2gguf would write of it; llama.cpp's rules that go by the name of a model do not apply. Errors:
/// those of read_tokenizer(), "hf-tok-missing" where the model is not a directory.
Result<tokenizer::EncodeKeys> directory_tokenizer(const SafetensorsModel& model);

/// "hf-tok-missing": the model is not a directory.
tl::unexpected<Error> no_tokenizer_files();

/// "chat_template", "chat_template.NAME": a template. "bos_token", "eos_token", "unk_token" …: the text of a special
/// token. Nothing for other names, or where the files do not have it.
std::optional<std::string> directory_text(const SafetensorsModel& model, std::string_view key);

}  // namespace modelutils
