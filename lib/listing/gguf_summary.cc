#include "listing/gguf_summary.h"

#include <algorithm>
#include <map>

#include "base/checked_math.h"
#include "gguf/file_type.h"
#include "gguf/keys.h"
#include "gguf/parse.h"
#include "listing/gguf_companion.h"

namespace modelutils {

namespace {

// The largest models have a few hundred layers.
constexpr u64 max_layers_read = 4096;

void add(std::optional<u64>& sum, std::optional<u64> more) {
  sum = sum && more ? checked_add(*sum, *more) : std::nullopt;
}

std::optional<Range> range_value(const gguf::SetFile& file, const gguf::Index& index, const std::string& key) {
  if (const std::optional<u64> value = index.unsigned_value(key)) return Range{*value, *value};
  const gguf::ArrayRef* array = index.array_value(key);
  if (array == nullptr || gguf::value_size(array->element_type) == 0) return std::nullopt;
  const auto values = gguf::read_numbers<u64>(*file.source, file.document, *array, 0, max_layers_read);
  if (!values || values->empty()) return std::nullopt;
  const auto [low, high] = std::minmax_element(values->begin(), values->end());
  return Range{*low, *high};
}

}  // namespace

ModelFacts summarize_keys(const gguf::SplitSet& set) {
  const gguf::SetFile& file = set.files.front();
  ModelFacts summary;
  const gguf::Index index(file.document);
  const auto number = [&](std::string_view suffix) { return index.unsigned_value(index.arch_key(suffix)); };
  const auto text = [&](std::string_view key) { return std::string(index.string_value(key).value_or("")); };
  summary.architecture = index.architecture();
  summary.name = text("general.name");
  if (const auto code = index.unsigned_value("general.file_type")) summary.mix = gguf::file_type_name(*code);
  summary.tokenizer = text("tokenizer.ggml.model");
  summary.tokenizer_pre = text("tokenizer.ggml.pre");
  summary.layers = number("block_count");
  summary.context = number("context_length");
  summary.embedding = number("embedding_length");
  summary.head_dim = number("attention.key_length");
  summary.experts = number("expert_count");
  summary.experts_used = number("expert_used_count");
  summary.feed_forward = range_value(file, index, index.arch_key("feed_forward_length"));
  summary.heads = range_value(file, index, index.arch_key("attention.head_count"));
  summary.heads_kv = range_value(file, index, index.arch_key("attention.head_count_kv"));
  summary.query_rank = number("attention.q_lora_rank");
  summary.key_value_rank = number("attention.kv_lora_rank");
  constexpr std::pair<std::string_view, std::string_view> sizes[] = {
      {"ssm.state_size", "state"}, {"ssm.inner_size", "width"}, {"ssm.conv_kernel", "convolution"},
      {"kda.head_dim", "head"},    {"wkv.head_size", "head"},   {"shortconv.l_cache", "convolution"},
  };
  for (const auto& [key, name] : sizes) {
    if (const std::optional<u64> size = number(key); size.value_or(0) > 0) summary.recurrent.push_back({name, *size});
  }
  summary.rope_scaling = text(index.arch_key("rope.scaling.type"));
  summary.rope_factor = index.float_value(index.arch_key("rope.scaling.factor"));
  summary.rope_original_context = number("rope.scaling.original_context_length");
  const gguf::ArrayRef* tokens = index.array_value("tokenizer.ggml.tokens");
  summary.vocabulary = tokens != nullptr ? std::optional<u64>(tokens->count) : number("vocab_size");
  const bool even = summary.heads && summary.heads->low == summary.heads->high && summary.heads->low > 0;
  if (!summary.head_dim && even && summary.embedding && *summary.embedding % summary.heads->low == 0) {
    summary.head_dim = *summary.embedding / summary.heads->low;
  }
  summary.companion = companion_facts(set);
  summary.adapter = adapter_facts(set);
  summary.cache = memory::cache_summary(set);
  return summary;
}

std::vector<NamedTemplate> named_templates(const gguf::SplitSet& set) {
  constexpr std::string_view prefix = "tokenizer.chat_template";
  std::vector<NamedTemplate> templates;
  for (const gguf::KeyValue& key : set.files.front().document.keys) {
    const auto* text = std::get_if<std::string>(&key.value);
    if (text == nullptr || !std::string_view(key.key).starts_with(prefix)) continue;
    const std::string_view rest = std::string_view(key.key).substr(prefix.size());
    if (!rest.empty() && rest.front() != '.') continue;
    templates.push_back({rest.empty() ? rest : rest.substr(1), text->size()});
  }
  return templates;
}

std::optional<jinja::Capabilities> template_capabilities(const gguf::SplitSet& set) {
  const auto text = gguf::Index(set.files.front().document).string_value("tokenizer.chat_template");
  if (!text) return std::nullopt;
  const auto parsed = jinja::parse(*text);
  return parsed ? std::optional(jinja::capabilities(*parsed)) : std::nullopt;
}

std::string gguf_type_text(const gguf::TensorInfo& tensor) {
  const std::optional<TensorType> type = tensor.type();
  return type ? std::string(type_name(*type)) : std::to_string(tensor.type_id);
}

namespace {

// In a stacked expert tensor the last dimension is the expert; each token uses only some of them.
std::optional<u64> active_elements(const gguf::TensorInfo& tensor, const ModelFacts& summary) {
  const std::optional<u64> elements = tensor.elements();
  const u64 experts = summary.experts.value_or(0);
  const bool is_stack = tensor.name.find("_exps.") != std::string::npos && experts > 0 && !tensor.ne.empty() &&
                        tensor.ne.back() == experts;
  if (!elements || !is_stack) return elements;
  return checked_mul(*elements / experts, summary.experts_used.value_or(experts));
}

}  // namespace

ModelFacts summarize(const gguf::SplitSet& set) {
  ModelFacts summary = summarize_keys(set);
  summary.parameters = summary.tensor_bytes = summary.file_size = 0;
  if (summary.experts.value_or(0) > 0) summary.active_parameters = 0;
  std::map<u32, std::size_t> places;
  for (const gguf::SetFile& file : set.files) {
    add(summary.file_size, file.document.file_size);
    for (const gguf::TensorInfo& tensor : file.document.tensors) {
      const auto [entry, is_new] = places.try_emplace(tensor.type_id, summary.types.size());
      if (is_new) summary.types.push_back({gguf_type_text(tensor), tensor.type(), 0, 0, 0});
      TypeTotal& total = summary.types[entry->second];
      const std::optional<u64> elements = tensor.elements();
      const std::optional<u64> bytes = tensor.bytes();
      ++summary.tensors;
      ++total.tensors;
      add(total.bytes, bytes);
      add(total.parameters, elements);
      add(summary.tensor_bytes, bytes);
      add(summary.parameters, elements);
      add(summary.active_parameters, active_elements(tensor, summary));
    }
  }
  if (summary.tensor_bytes && summary.parameters && *summary.parameters > 0) {
    summary.bits_per_weight =
        8.0 * static_cast<double>(*summary.tensor_bytes) / static_cast<double>(*summary.parameters);
  }
  return summary;
}

}  // namespace modelutils
