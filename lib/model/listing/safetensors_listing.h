// The content of a listing of a safetensors model or directory: its keys, from its metadata and its config.json, and
// its tokenizer, as GGUF keys and as the texts that st-dump --get reads.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/safetensors_model.h"
#include "tokenizer/encode/vocabulary.h"

namespace modelutils {

// The keys of a safetensors model, from its metadata and its config.json.

/// Returns the value of `key` in __metadata__ of the model's files; otherwise, for a directory, the config.json field
/// of that name (in text_config before the top level). Strings verbatim, lists with one element per line, everything
/// else as JSON. Returns nullopt if there is no such key. Raw text of the file.
std::optional<std::string> st_value(const SafetensorsModel& model, std::string_view key);

/// Returns every key that st_value() knows, once each, in file order: metadata, text_config, top level. Raw text.
std::vector<std::string> st_keys(const SafetensorsModel& model);

// The tokenizer of a model directory: its GGUF keys, and the texts that st-dump --get reads from its files.

/// Returns the tokenizer keys that mlx2gguf would write for the model, without llama.cpp's rules that depend on a
/// model's name. Errors: those of read_tokenizer(), "hf-tok-missing" if the model is not a directory.
Result<tokenizer::EncodeKeys> directory_tokenizer(const SafetensorsModel& model);

/// Returns error "hf-tok-missing": the model is not a directory.
tl::unexpected<Error> no_tokenizer_files();

/// Returns a template for "chat_template" and "chat_template.NAME", or the text of a special token for "bos_token",
/// "eos_token", "unk_token" and so on. Returns nullopt for other keys and for keys absent from the files.
std::optional<std::string> directory_text(const SafetensorsModel& model, std::string_view key);

}  // namespace modelutils
