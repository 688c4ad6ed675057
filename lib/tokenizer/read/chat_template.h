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

/// Reads the templates of a folder; chat_template.jinja and additional_chat_templates/*.jinja win over
/// tokenizer_config.json (`tokenizer_config`, if there is one), that over chat_template.json. Texts that differ between
/// them are a warning in `findings`. Errors: reading, "json-syntax", "hf-tok-template" (of a wrong type, not UTF-8),
/// "hf-tok-too-large" (above 16 MiB).
Result<ChatTemplates> read_chat_templates(const ModelFolder& folder, std::optional<json::Element> tokenizer_config,
                                          FindingLog& findings);

/// The default template of a folder whose model is elsewhere, or in another format; nothing where there is none, or
/// where it cannot be read.
std::optional<std::string> folder_template(const ModelFolder& folder);

}  // namespace modelutils::tokenizer
