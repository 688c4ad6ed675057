#include "listing/gguf_summary.h"

#include <algorithm>
#include <map>

#include "arch/facts.h"
#include "base/checked_math.h"
#include "gguf/file_type.h"
#include "gguf/keys.h"
#include "listing/gguf_companion.h"

namespace modelutils {

namespace {

void add(std::optional<u64>& sum, std::optional<u64> more) {
  sum = sum && more ? checked_add(*sum, *more) : std::nullopt;
}

std::optional<Range> range_of(const arch::Fact& fact) {
  if (const std::optional<u64> value = fact.number()) return Range{*value, *value};
  const arch::LayerNumbers* list = fact.list();
  if (list == nullptr || list->values.empty()) return std::nullopt;
  const auto [low, high] = std::ranges::minmax(list->values);
  return Range{static_cast<u64>(std::max<i64>(low, 0)), static_cast<u64>(std::max<i64>(high, 0))};
}

ModelFacts summary_of(const arch::Facts& stated) {
  ModelFacts summary;
  summary.architecture = stated.architecture;
  summary.layers = stated.layers.number();
  summary.context = stated.context.number();
  summary.embedding = stated.width.number();
  summary.head_dim = stated.key_length.number();
  summary.experts = stated.experts.number();
  summary.experts_used = stated.experts_used.number();
  summary.feed_forward = range_of(stated.feed_forward);
  summary.heads = range_of(stated.heads);
  summary.heads_kv = range_of(stated.kv_heads);
  summary.query_rank = stated.query_rank.number();
  summary.key_value_rank = stated.kv_rank.number();
  const std::pair<const arch::Fact&, std::string_view> sizes[] = {
      {stated.ssm_state, "state"}, {stated.ssm_width, "width"}, {stated.ssm_kernel, "convolution"},
      {stated.delta_head, "head"}, {stated.wkv_head, "head"},   {stated.convolution_length, "convolution"},
  };
  for (const auto& [fact, name] : sizes) {
    if (const u64 size = fact.number().value_or(0); size > 0) summary.recurrent.push_back({name, size});
  }
  summary.rope_scaling = stated.rope_scaling.text().value_or("");
  summary.rope_factor = stated.rope_factor.real();
  summary.rope_original_context = stated.rope_context.number();
  summary.vocabulary = stated.tokens ? stated.tokens : stated.vocabulary.number();
  const bool even = summary.heads && summary.heads->low == summary.heads->high && summary.heads->low > 0;
  if (!summary.head_dim && even && summary.embedding && *summary.embedding % summary.heads->low == 0) {
    summary.head_dim = *summary.embedding / summary.heads->low;
  }
  summary.cache = memory::cache_summary(stated);
  return summary;
}

}  // namespace

ModelFacts summary_of(const hf::Config& config) {
  ModelFacts summary = summary_of(arch::read_facts(config));
  summary.architecture = config.architecture.empty() ? config.model_type : config.architecture;
  return summary;
}

ModelFacts summarize_keys(const gguf::SplitSet& set) {
  const gguf::SetFile& file = set.files.front();
  const gguf::Index index(file.document);
  ModelFacts summary = summary_of(arch::read_facts(index, file).value_or(arch::Facts{}));
  const auto text = [&](std::string_view key) { return std::string(index.string_value(key).value_or("")); };
  summary.name = text("general.name");
  if (const auto code = index.unsigned_value("general.file_type")) summary.mix = gguf::file_type_name(*code);
  summary.tokenizer = text("tokenizer.ggml.model");
  summary.tokenizer_pre = text("tokenizer.ggml.pre");
  summary.companion = companion_facts(set);
  summary.adapter = adapter_facts(set);
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

// Returns the elements that one token uses; nullopt on overflow. In a stacked expert tensor the last dimension is the
// expert, and each token uses only some experts.
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
