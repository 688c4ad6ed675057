#include "model/listing/model_facts.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

#include "arch/facts.h"
#include "arch/projectors.h"
#include "base/path.h"
#include "base/text.h"
#include "base/types.h"
#include "formats/gguf/document.h"
#include "formats/gguf/foreign_types.h"
#include "formats/gguf/parse.h"
#include "model/adapter/adapter.h"
#include "model/adapter/pairs.h"
#include "model/image_tensors.h"

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

// Returns "0.5", or "0.48/0.46/0.41" for three different numbers.
std::string colours(const std::vector<double>& values) {
  std::string text;
  for (const double value : values) text += fmt::format("{}{:.4g}", text.empty() ? "" : "/", value);
  const bool is_one = std::ranges::count(values, values.front()) == static_cast<std::ptrdiff_t>(values.size());
  return is_one ? fmt::format("{:.4g}", values.front()) : text;
}

std::vector<double> read_colours(const gguf::SetFile& file, const gguf::Index& index, std::string_view key) {
  const gguf::ArrayRef* array = index.array_value(key);
  if (array == nullptr || gguf::value_size(array->element_type) == 0) return {};
  return gguf::read_numbers<double>(*file.source, file.document, *array, 0, 3).value_or(std::vector<double>());
}

TowerFacts facts_of_tower(const gguf::SetFile& file, const gguf::Index& index, const arch::Encoder& encoder) {
  TowerFacts tower;
  tower.encoder = encoder.name;
  const auto type = arch::projector_type(index, encoder);
  const arch::Projector* row = type ? arch::find_projector(*type, encoder, index) : nullptr;
  tower.type = type.value_or("");
  const auto number = [&](std::string_view name) {
    return index.unsigned_value(fmt::format("clip.{}.{}", encoder.name, name));
  };
  const auto range = [&](std::string_view least, std::string_view most) {
    const auto low = number(least), high = number(most);
    return low && high ? std::optional(Range{*low, *high}) : std::nullopt;
  };
  tower.image_size = number("image_size");
  tower.patch_size = number("patch_size");
  if (const auto tokens = row != nullptr ? arch::picture_tokens(index, *row) : std::nullopt) {
    tower.tokens = Range{tokens->least, tokens->most};
  }
  tower.mel_bins = number("num_mel_bins");
  if (encoder.name == "vision") {
    tower.mean = read_colours(file, index, "clip.vision.image_mean");
    tower.deviation = read_colours(file, index, "clip.vision.image_std");
    tower.pixels = range("image_min_pixels", "image_max_pixels");
    tower.tiles = range("preproc_min_tiles", "preproc_max_tiles");
  }
  tower.layers = number("block_count");
  if (const auto width = arch::projector_width(index, encoder)) {
    tower.width = width->size;
    tower.parts = width->parts;
  }
  return tower;
}

Facts projector_facts(const std::vector<TowerFacts>& towers) {
  Facts facts;
  for (const TowerFacts& tower : towers) {
    facts.push_back(fmt::format("{} projector{}{}", tower.encoder, tower.type.empty() ? "" : " ", tower.type));
    for (std::string& words : tower_words(tower)) facts.push_back(std::move(words));
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

std::vector<TowerFacts> tower_facts(const gguf::SplitSet& set) {
  const gguf::SetFile& file = set.files.front();
  const gguf::Index index(file.document);
  std::vector<TowerFacts> towers;
  if (index.architecture() != "clip") return towers;
  for (const arch::Encoder& encoder : arch::encoders) {
    if (index.bool_value(encoder.flag).value_or(false)) towers.push_back(facts_of_tower(file, index, encoder));
  }
  return towers;
}

std::vector<std::string> tower_words(const TowerFacts& tower) {
  Facts words;
  const auto& image = tower.image_size;
  if (image) words.push_back(*image == 0 ? std::string("images of any size") : fmt::format("images of {}", *image));
  if (tower.patch_size) words.push_back(fmt::format("patches of {}", *tower.patch_size));
  if (const auto& tokens = tower.tokens) {
    words.push_back(tokens->low == tokens->high
                        ? counted(tokens->high, "token") + " per picture"
                        : fmt::format("{} to {} tokens per picture", thousands(tokens->low), thousands(tokens->high)));
  }
  if (tower.mel_bins) words.push_back(fmt::format("{} mel bins", *tower.mel_bins));
  if (!tower.mean.empty() && !tower.deviation.empty()) {
    words.push_back(fmt::format("mean {}, std {}", colours(tower.mean), colours(tower.deviation)));
  }
  if (const auto& pixels = tower.pixels) {
    words.push_back(fmt::format("{} to {} pixels", thousands(pixels->low), thousands(pixels->high)));
  }
  if (const auto& tiles = tower.tiles) words.push_back(fmt::format("{} to {} tiles", tiles->low, tiles->high));
  if (tower.layers) words.push_back(counted(*tower.layers, "layer"));
  if (tower.width) words.push_back(fmt::format("for a width of {}", *tower.width));
  if (tower.width && tower.parts > 1) words.push_back(fmt::format("{} of them for a token", tower.parts));
  return words;
}

std::vector<std::string> companion_facts(const gguf::SplitSet& set) {
  const gguf::Document& document = set.files.front().document;
  const gguf::Index index(document);
  if (const auto adapter = adapter_facts(set)) return adapter_words(*adapter);
  if (index.string_value("general.type") == "imatrix") return imatrix_facts(document, index);
  if (index.architecture() == "clip") return projector_facts(tower_facts(set));
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

ModelFacts summary_of_facts(const arch::Facts& stated) {
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
  summary.pooling = stated.pooling.number();
  summary.sees_whole_text = stated.causal.flag() == false;
  summary.output_width = stated.output_width.number();
  summary.labels = stated.labels;
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
  ModelFacts summary = summary_of_facts(arch::read_facts(config));
  summary.architecture = config.architecture.empty() ? config.model_type : config.architecture;
  return summary;
}

ModelFacts summarize_keys(const gguf::SplitSet& set) {
  const gguf::SetFile& file = set.files.front();
  const gguf::Index index(file.document);
  ModelFacts summary = summary_of_facts(arch::read_facts(index, file).value_or(arch::Facts{}));
  const auto text = [&](std::string_view key) { return std::string(index.string_value(key).value_or("")); };
  summary.name = text("general.name");
  if (const auto code = index.unsigned_value("general.file_type")) summary.mix = gguf::file_type_name(*code);
  summary.tokenizer = text("tokenizer.ggml.model");
  summary.tokenizer_pre = text("tokenizer.ggml.pre");
  summary.companion = companion_facts(set);
  summary.adapter = adapter_facts(set);
  summary.towers = tower_facts(set);
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

std::optional<ImageFacts> image_facts_of(const gguf::SplitSet& set) {
  const arch::ImageLayout layout = arch::image_layout(set);
  if (!layout) return std::nullopt;
  const std::vector<std::optional<ImageTensor>> original = image_tensors(set, layout);
  std::vector<std::string> types;
  types.reserve(original.size());
  std::vector<ImageEntry> entries;
  for (const gguf::SetFile& file : set.files) {
    for (const gguf::TensorInfo& tensor : file.document.tensors) {
      const auto& own = original[entries.size()];
      entries.push_back({tensor.name, own ? std::span<const u64>(own->ne) : tensor.ne,
                         types.emplace_back(gguf::type_text(tensor)), tensor.bytes().value_or(0)});
    }
  }
  const gguf::Index keys(set.files.front().document);
  const std::string words[] = {std::string(keys.string_value("general.name").value_or("")),
                               base_name_of(set.files.front().path)};
  return image_facts(layout, entries, words);
}

}  // namespace

// Adds the types of forks, each once.
static void add_foreign_types(const gguf::Document& document, std::vector<ForeignTypeFacts>& foreign) {
  for (const gguf::ForeignTypeUse& use : gguf::foreign_types_of(document)) {
    const gguf::ForeignType& type = use.type;
    if (std::ranges::find(foreign, type.text, &ForeignTypeFacts::text) != foreign.end()) continue;
    ForeignTypeFacts facts;
    facts.id = type.id;
    facts.text = type.text;
    facts.bits_per_weight = type.bits_per_weight();
    facts.advice = type.advice();
    for (std::size_t i = 0; i < type.forks.size(); ++i) {
      facts.forks.push_back({type.types[i]->name, type.forks[i]->name, type.forks[i]->repository});
    }
    foreign.push_back(std::move(facts));
  }
}

ModelFacts summarize(const gguf::SplitSet& set) {
  ModelFacts summary = summarize_keys(set);
  summary.image = image_facts_of(set);
  if (summary.image && summary.architecture.empty()) summary.architecture = summary.image->architecture;
  summary.parameters = summary.tensor_bytes = summary.file_size = 0;
  if (summary.experts.value_or(0) > 0) summary.active_parameters = 0;
  std::map<u32, std::size_t> places;
  for (const gguf::SetFile& file : set.files) {
    add(summary.file_size, file.document.file_size);
    add_foreign_types(file.document, summary.foreign_types);
    for (const gguf::TensorInfo& tensor : file.document.tensors) {
      const auto [entry, is_new] = places.try_emplace(tensor.type_id, summary.types.size());
      if (is_new) summary.types.push_back({gguf::type_text(tensor), tensor.type(), 0, 0, 0});
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
