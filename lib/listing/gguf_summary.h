// A summary of a GGUF model from its keys and tensors.
#pragma once

#include "gguf/split_set.h"
#include "listing/model_facts.h"

namespace modelutils {

/// Returns the hyper-parameters and the cache that follows from them, name, tokenizer and mix. Of arrays reads only
/// those with one number per layer.
ModelFacts summarize_keys(const gguf::SplitSet& set);
/// The same, with totals over the tensors.
ModelFacts summarize(const gguf::SplitSet& set);

/// Returns the chat templates, both the default one and the named ones.
std::vector<NamedTemplate> named_templates(const gguf::SplitSet& set);
/// Returns the capabilities of the chat template, found by rendering it; nullopt if there is none or it does not parse.
std::optional<jinja::Capabilities> template_capabilities(const gguf::SplitSet& set);

/// Returns for example "Q4_K"; for an unknown type its number.
std::string gguf_type_text(const gguf::TensorInfo& tensor);

}  // namespace modelutils
