// A summary of a model: of a GGUF from its keys and tensors, of a directory from its config.json.
#pragma once

#include "gguf/split_set.h"
#include "hf/config.h"
#include "listing/model_facts.h"

namespace modelutils {

/// Returns hyper-parameters, cache size, name, tokenizer and mix, all from the keys. Reads only arrays with one number
/// per layer.
ModelFacts summarize_keys(const gguf::SplitSet& set);
/// Returns the summary of a directory, under Hugging Face's name for the architecture.
ModelFacts summary_of(const hf::Config& config);
/// Returns summarize_keys() with totals over the tensors.
ModelFacts summarize(const gguf::SplitSet& set);

/// Returns the chat templates, both the default one and the named ones.
std::vector<NamedTemplate> named_templates(const gguf::SplitSet& set);
/// Returns the capabilities of the chat template, found by rendering it; nullopt if there is none or it does not parse.
std::optional<jinja::Capabilities> template_capabilities(const gguf::SplitSet& set);

/// Returns for example "Q4_K"; for an unknown type its number.
std::string gguf_type_text(const gguf::TensorInfo& tensor);

}  // namespace modelutils
