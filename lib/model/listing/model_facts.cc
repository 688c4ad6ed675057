#include "model/listing/model_facts.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

#include "arch/facts.h"
#include "arch/projectors.h"
#include "base/text.h"
#include "base/types.h"
#include "formats/gguf/document.h"
#include "model/adapter/adapter.h"
#include "model/adapter/pairs.h"

namespace modelutils {

namespace {

// Returns "4", or "2–8" if the targets differ.
template <typename Of>
std::string range_text(const std::vector<AdapterTarget>& targets, Of of) {
  const auto [least, most] = std::ranges::minmax_element(targets, {}, of);
  const std::string low = fmt::format("{:.6g}", static_cast<double>(std::invoke(of, *least)));
  const std::string high = fmt::format("{:.6g}", static_cast<double>(std::invoke(of, *most)));
  return low == high ? low : low + "–" + high;
}

}  // namespace

std::optional<AdapterFacts> adapter_facts(const gguf::SplitSet& set) {
  const gguf::Document& document = set.files.front().document;
  const gguf::Index index(document);
  const std::optional<adapter::GgufAdapter> found = adapter::gguf_adapter(document, index);
  if (!found) return std::nullopt;
  AdapterFacts facts;
  facts.form = "gguf";
  facts.alpha = found->alpha;
  for (const adapter::GgufPair& pair : found->pairs) {
    facts.targets.push_back(
        {std::string(pair.target), pair.rank(), found->scale_of(pair), pair.columns(), pair.rows(), pair.slices()});
  }
  facts.others = document.tensors.size() - 2 * found->pairs.size();
  return facts;
}

std::optional<AdapterFacts> adapter_facts(const SafetensorsModel& model) {
  if (!model.set.is_directory || !adapter::is_adapter(model.folder)) return std::nullopt;
  const Result<adapter::Adapter> read = adapter::read_adapter(model.folder, model.set);
  if (!read) return std::nullopt;
  AdapterFacts facts;
  facts.form = read->origin == adapter::Origin::peft ? "peft" : "mlx";
  facts.alpha = read->alpha;
  for (const adapter::Module& module : read->modules) {
    facts.targets.push_back(
        {module.name, module.rank(), module.scale, module.a.columns, module.b.rows, module.b.stack});
  }
  facts.others = read->extras.size();
  return facts;
}

std::vector<std::string> adapter_words(const AdapterFacts& facts) {
  std::vector<std::string> words = {"LoRA adapter"};
  if (!facts.targets.empty()) words.push_back("rank " + range_text(facts.targets, &AdapterTarget::rank));
  if (facts.alpha) words.push_back(fmt::format("alpha {}", *facts.alpha));
  if (!facts.targets.empty()) words.push_back("scale " + range_text(facts.targets, &AdapterTarget::scale));
  words.push_back(counted(facts.targets.size(), "matrix", "matrices"));
  if (facts.others > 0) words.push_back(counted(facts.others, "other tensor"));
  return words;
}

namespace {

using Facts = std::vector<std::string>;

Facts imatrix_facts(const gguf::Document& document, const gguf::Index& index) {
  Facts facts = {"importance matrix"};
  const auto chunks = index.unsigned_value("imatrix.chunk_count");
  const auto tokens = index.unsigned_value("imatrix.chunk_size");
  if (chunks && tokens) facts.push_back(fmt::format("{} of {}", counted(*chunks, "chunk"), counted(*tokens, "token")));
  const auto matrices = std::ranges::count_if(
      document.tensors, [](const gguf::TensorInfo& tensor) { return tensor.name.ends_with(".counts"); });
  facts.push_back("of " + counted(static_cast<u64>(matrices), "tensor"));
  if (const gguf::ArrayRef* texts = index.array_value("imatrix.datasets")) {
    facts.push_back("from " + counted(texts->count, "file"));
  }
  return facts;
}

Facts projector_facts(const gguf::Index& index) {
  Facts facts;
  for (const arch::Encoder& encoder : arch::encoders) {
    if (!index.bool_value(encoder.flag).value_or(false)) continue;
    const auto type = arch::projector_type(index, encoder);
    facts.push_back(fmt::format("{} projector{}", encoder.name, type ? fmt::format(" {}", *type) : std::string()));
    const auto number = [&](std::string_view name) {
      return index.unsigned_value(fmt::format("clip.{}.{}", encoder.name, name));
    };
    if (const auto size = number("image_size")) facts.push_back(fmt::format("images of {}", *size));
    if (const auto size = number("patch_size")) facts.push_back(fmt::format("patches of {}", *size));
    if (const auto bins = number("num_mel_bins")) facts.push_back(fmt::format("{} mel bins", *bins));
    if (const auto layers = number("block_count")) facts.push_back(counted(*layers, "layer"));
    if (const auto width = arch::projector_width(index, encoder)) {
      facts.push_back(fmt::format("for a width of {}", width->size));
    }
  }
  if (facts.empty()) facts.emplace_back("projector");
  return facts;
}

}  // namespace

std::vector<std::string> legacy_imatrix_facts(const quantize::ImportanceMatrix& matrix) {
  Facts facts = {"importance matrix"};
  if (matrix.chunks() > 0) facts.push_back(counted(matrix.chunks(), "chunk"));
  facts.push_back("of " + counted(matrix.entries().size(), "tensor"));
  if (!matrix.datasets().empty()) facts.push_back("from " + counted(matrix.datasets().size(), "file"));
  return facts;
}

std::vector<std::string> companion_facts(const gguf::SplitSet& set) {
  const gguf::Document& document = set.files.front().document;
  const gguf::Index index(document);
  if (const auto adapter = adapter_facts(set)) return adapter_words(*adapter);
  if (index.string_value("general.type") == "imatrix") return imatrix_facts(document, index);
  if (index.architecture() == "clip") return projector_facts(index);
  return {};
}

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
