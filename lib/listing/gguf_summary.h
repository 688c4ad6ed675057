// What a GGUF model is, from its keys and its tensors.
#pragma once

#include "gguf/split_set.h"
#include "listing/model_facts.h"

namespace modelutils {

/// What the keys alone say. Reads nothing but per-layer arrays of head counts.
ModelFacts summarize_keys(const gguf::SplitSet& set);
/// The same, and the sums of the tensors.
ModelFacts summarize(const gguf::SplitSet& set);

/// The chat templates, the usual one and those with a name.
std::vector<NamedTemplate> named_templates(const gguf::SplitSet& set);
/// What the chat template can do; nothing without one that parses. Renders it.
std::optional<jinja::Capabilities> template_capabilities(const gguf::SplitSet& set);

/// "Q4_K", or the number of an id that the table does not have.
std::string gguf_type_text(const gguf::TensorInfo& tensor);

}  // namespace modelutils
