// Chat templates of a Hugging Face directory: chat_template.jinja, tokenizer_config.json, chat_template.json.
#pragma once

#include <optional>
#include <string>

#include "base/error.h"
#include "base/finding_log.h"
#include "io/model_folder.h"
#include "json/reader.h"
#include "tokenizer/tokenizer.h"

namespace modelutils::tokenizer {

/// Reads the templates of a folder. chat_template.jinja and additional_chat_templates/*.jinja take precedence over
/// tokenizer_config.json (`tokenizer_config`, if present), and that over chat_template.json. Differing texts are a
/// warning in `findings`. Errors: read errors, "json-syntax", "hf-tok-template" (wrong type, not UTF-8),
/// "hf-tok-too-large" (above 16 MiB).
Result<ChatTemplates> read_chat_templates(const ModelFolder& folder, std::optional<json::Element> tokenizer_config,
                                          FindingLog& findings);

/// Returns the default template of a folder whose model is elsewhere or in another format; nullopt if there is none or
/// it cannot be read.
std::optional<std::string> folder_template(const ModelFolder& folder);

}  // namespace modelutils::tokenizer
