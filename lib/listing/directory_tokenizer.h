// The tokenizer of a model directory: its GGUF keys, and the texts that st-dump --get reads from its files.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/safetensors_model.h"
#include "tokenizer/encode/keys.h"

namespace modelutils {

/// Returns the tokenizer keys that mlx2gguf would write for the model, without llama.cpp's rules that depend on a
/// model's name. Errors: those of read_tokenizer(), "hf-tok-missing" if the model is not a directory.
Result<tokenizer::EncodeKeys> directory_tokenizer(const SafetensorsModel& model);

/// Returns error "hf-tok-missing": the model is not a directory.
tl::unexpected<Error> no_tokenizer_files();

/// Returns a template for "chat_template" and "chat_template.NAME", or the text of a special token for "bos_token",
/// "eos_token", "unk_token" and so on. Returns nullopt for other keys and for keys absent from the files.
std::optional<std::string> directory_text(const SafetensorsModel& model, std::string_view key);

}  // namespace modelutils
