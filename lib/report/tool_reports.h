// The reports of gguf-quantize, st-edit, pt2st and model-diff --extract-lora, for people and as JSON
// ("gguf-quantize/1", "st-edit/1", "pt2st/1", "extract-lora/1" in docs/json.md).
#pragma once

#include <string>

#include "compare/extract_adapter.h"
#include "convert/requantize/quantize_model.h"
#include "edit/safetensors/edited_set.h"

namespace modelutils {

// The report of st-edit and pt2st, for scripts (st-edit/1 and pt2st/1, docs/json.md) and for people.

/// Returns one JSON object and a line feed.
std::string checkpoint_json(const to_safetensors::StReport& report);
/// `all`: list every tensor as well.
std::string checkpoint_text(const to_safetensors::StReport& report, bool all);

// The report of model-diff --extract-lora, for scripts (extract-lora/1, docs/json.md) and for people.

/// Returns one JSON object and a line feed.
std::string extract_json(const ExtractReport& report);
/// Returns text for people. Escaped.
std::string extract_text(const ExtractReport& report);

// The report of gguf-quantize in its two forms. docs/json.md describes the JSON form ("gguf-quantize/1").

/// Returns one JSON object and a line feed; for a projector beside the model, transfer_json() follows.
std::string quantize_json(const requantize::QuantizeReport& report);

/// Returns text for people: the contents and errors of each type, the worst layers first (with `all` a line for each
/// tensor), then the totals. Escaped.
std::string quantize_text(const requantize::QuantizeReport& report, bool all);

}  // namespace modelutils
