#include "convert/to_gguf/keys.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "arch/prediction_rows.h"
#include "base/path.h"
#include "base/text.h"
#include "base/types.h"
#include "formats/gguf/write.h"
#include "formats/hf/names.h"
#include "tokenizer/tokenizer.h"

namespace modelutils::to_gguf {

namespace {

void add_known(Keys& keys, std::string_view name, const std::string& text) {
  if (!text.empty()) keys.push_back(gguf::make_key_string(std::string(name), text));
}

void add_real(Keys& keys, std::string_view name, std::optional<float> value) {
  if (value) keys.push_back(gguf::make_key_f32(std::string(name), *value));
}

// Adds the keys of one source model or dataset, given as "organisation/name", an address ending like that, or a bare
// name.
void add_source(Keys& keys, const std::string& prefix, std::string_view source) {
  const std::size_t scheme = source.find("://");
  const bool is_address = scheme != std::string_view::npos;
  const std::string_view path = is_address ? source.substr(scheme + 3) : source;
  const std::size_t slash = path.rfind('/');
  const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  const hf::ModelId id = hf::parse_model_id(name, 0);
  keys.push_back(gguf::make_key_string(prefix + "name", name.empty() ? std::string(source) : hf::model_title(name)));
  if (slash != std::string_view::npos) {
    const std::string_view above = path.substr(0, slash);
    const std::size_t previous = above.rfind('/');
    const std::string_view organization = previous == std::string_view::npos ? above : above.substr(previous + 1);
    const bool is_host = is_address && previous == std::string_view::npos;
    if (!is_host) add_known(keys, prefix + "organization", hf::model_title(organization));
  }
  add_known(keys, prefix + "version", id.version);
  if (is_address) {
    keys.push_back(gguf::make_key_string(prefix + "repo_url", source));
  } else if (slash != std::string_view::npos) {
    keys.push_back(gguf::make_key_string(prefix + "repo_url", fmt::format("https://huggingface.co/{}", source)));
  }
}

void add_sources(Keys& keys, std::string_view kind, const std::vector<std::string>& sources) {
  if (sources.empty()) return;
  keys.push_back(gguf::make_key(fmt::format("general.{}.count", kind), static_cast<u32>(sources.size())));
  for (std::size_t i = 0; i < sources.size(); ++i) {
    add_source(keys, fmt::format("general.{}.{}.", kind, i), sources[i]);
  }
}

// Returns `_name_or_path` if it is a model's name, or an empty view if it is a local path.
std::string_view stated_name(const hf::Config& config) {
  const std::string_view name = config.string_field("_name_or_path").value_or("");
  const bool is_path = name.find_first_of("/.~") == 0 || name.find('\\') != std::string_view::npos ||
                       std::count(name.begin(), name.end(), '/') > 1 || name.ends_with('/');
  return is_path ? std::string_view() : name;
}

void fill(std::string& into, std::string value) {
  if (into.empty()) into = std::move(value);
}

void fill_from_name(Identity& identity, std::string_view name, u64 parameters) {
  if (name.empty()) return;
  hf::ModelId id = hf::parse_model_id(name, parameters);
  fill(identity.name, std::move(id.name));
  fill(identity.organization, hf::model_title(id.organization));
  fill(identity.basename, std::move(id.basename));
  fill(identity.finetune, std::move(id.finetune));
  fill(identity.version, std::move(id.version));
  fill(identity.size_label, std::move(id.size_label));
}

std::string scaled_count(double count) {
  static constexpr std::array<std::pair<double, const char*>, 4> units = {
      {{1e12, "T"}, {1e9, "B"}, {1e6, "M"}, {1e3, "K"}}};
  double scaled = count / 1e3;
  std::string_view unit = "K";
  for (const auto& [size, name] : units) {
    if (count > size) {
      scaled = count / size;
      unit = name;
      break;
    }
  }
  const std::string whole = fmt::format("{:.0f}", scaled);
  const std::size_t digits = whole == "0" ? 0 : whole.size();
  return fmt::format("{:.{}f}{}", scaled, digits < 2 ? 2 - digits : 0, unit);
}

}  // namespace

Identity find_identity(const hf::ModelCard& card, const hf::Config& config, const std::string& directory,
                       u64 parameters) {
  Identity identity;
  identity.name = card.name.value_or("");
  identity.organization = card.organization.value_or("");
  identity.basename = card.basename.value_or("");
  identity.finetune = card.finetune.value_or("");
  identity.version = card.version.value_or("");
  identity.size_label = card.size_label.value_or("");
  if (const auto repository = hf::cached_repository(hf::resolved_path(directory))) {
    fill_from_name(identity, *repository, parameters);
    return identity;
  }
  fill_from_name(identity, stated_name(config), parameters);
  fill_from_name(identity, hf::directory_name(directory), parameters);
  return identity;
}

std::vector<gguf::OutKey> adapter_keys(const std::vector<adapter::Wanted>& adapters) {
  std::vector<gguf::OutKey> keys;
  if (adapters.empty()) return keys;
  keys.push_back(gguf::make_key("general.lora.count", static_cast<u32>(adapters.size())));
  for (std::size_t i = 0; i < adapters.size(); ++i) {
    const std::string& directory = adapters[i].directory;
    const std::string prefix = "general.lora." + std::to_string(i);
    keys.push_back(gguf::make_key_string(
        prefix + ".name", base_name_of(std::string_view(directory).substr(0, directory.find_last_not_of('/') + 1))));
    keys.push_back(gguf::make_key_f32(prefix + ".scale", static_cast<float>(adapters[i].scale)));
  }
  return keys;
}

std::string size_label(u64 parameters, u64 expert_parameters, u64 n_expert) {
  if (n_expert == 0) return scaled_count(static_cast<double>(parameters));
  const u64 one = (parameters - expert_parameters) + expert_parameters / n_expert;
  return fmt::format("{}x{}", n_expert, scaled_count(static_cast<double>(one)));
}

Keys general_keys(const GeneralFacts& facts) {
  Keys keys;
  keys.push_back(gguf::make_key_string("general.architecture", facts.architecture));
  keys.push_back(gguf::make_key_string("general.type", facts.type));
  if (facts.sampling.top_k) keys.push_back(gguf::make_key_i32("general.sampling.top_k", *facts.sampling.top_k));
  add_real(keys, "general.sampling.top_p", facts.sampling.top_p);
  add_real(keys, "general.sampling.min_p", facts.sampling.min_p);
  add_real(keys, "general.sampling.temp", facts.sampling.temperature);
  add_real(keys, "general.sampling.penalty_repeat", facts.sampling.repetition_penalty);
  const Identity& identity = facts.identity;
  add_known(keys, "general.name", identity.name);
  add_known(keys, "general.version", identity.version);
  add_known(keys, "general.organization", identity.organization);
  add_known(keys, "general.finetune", identity.finetune);
  add_known(keys, "general.basename", identity.basename);
  add_known(keys, "general.size_label",
            identity.size_label.empty() ? size_label(facts.parameters, facts.expert_parameters, facts.n_expert)
                                        : identity.size_label);
  keys.push_back(gguf::make_key("general.file_type", facts.file_type));
  keys.push_back(gguf::make_key("general.quantization_version", u32{2}));
  return keys;
}

u32 file_type_code(TensorType type) {
  switch (type) {
    case TensorType::F16: return 1;
    case TensorType::Q4_0: return 2;
    case TensorType::Q4_1: return 3;
    case TensorType::Q8_0: return 7;
    case TensorType::Q5_0: return 8;
    case TensorType::Q5_1: return 9;
    case TensorType::BF16: return 32;
    case TensorType::MXFP4: return 38;
    case TensorType::NVFP4: return 39;
    case TensorType::Q1_0: return 40;
    case TensorType::Q2_0: return 41;
    default: return 0;
  }
}

Keys model_card_keys(const hf::ModelCard& card) {
  Keys keys;
  add_text(keys, "general.author", card.author);
  add_text(keys, "general.description", card.description);
  add_text(keys, "general.license", card.license);
  add_text(keys, "general.license.name", card.license_name);
  add_text(keys, "general.license.link", card.license_link);
  add_sources(keys, "base_model", card.base_models);
  add_sources(keys, "dataset", card.datasets);
  std::vector<std::string> tags = card.tags;
  if (card.pipeline_tag && std::find(tags.begin(), tags.end(), *card.pipeline_tag) == tags.end()) {
    tags.push_back(*card.pipeline_tag);
  }
  add_list(keys, "general.tags", tags);
  add_list(keys, "general.languages", card.languages);
  add_list(keys, "general.datasets", card.datasets);
  return keys;
}

}  // namespace modelutils::to_gguf

namespace modelutils {

namespace {

std::string ggml(std::string_view name) {
  return fmt::format("tokenizer.ggml.{}", name);
}

void add_flag(Keys& keys, std::string_view name, std::optional<bool> flag) {
  if (flag) keys.push_back(gguf::make_key_bool(ggml(name), *flag));
}

}  // namespace

Keys tokenizer_keys(const tokenizer::Tokenizer& tokenizer) {
  Keys keys;
  keys.push_back(gguf::make_key_string(ggml("model"), tokenizer::tokenizer_kind_name(tokenizer.kind)));
  if (!tokenizer.pre.empty()) keys.push_back(gguf::make_key_string(ggml("pre"), tokenizer.pre));
  keys.push_back(gguf::make_key_strings(ggml("tokens"), tokenizer.tokens));
  if (tokenizer::has_scores(tokenizer.kind)) keys.push_back(gguf::make_key_f32s(ggml("scores"), tokenizer.scores));
  keys.push_back(gguf::make_key_i32s(ggml("token_type"), tokenizer.types));
  // llama.cpp does not load byte-level BPE without this key, so write it even if empty.
  if (tokenizer.kind == tokenizer::TokenizerKind::gpt2)
    keys.push_back(gguf::make_key_strings(ggml("merges"), tokenizer.merges));
  for (const tokenizer::TokenRole& role : tokenizer::token_roles()) {
    const auto& id = tokenizer.special.*role.id;
    if (id) keys.push_back(gguf::make_key(std::string(role.key), *id));
  }
  add_flag(keys, "add_bos_token", tokenizer.add_bos);
  add_flag(keys, "add_eos_token", tokenizer.add_eos);
  add_flag(keys, "add_sep_token", tokenizer.add_sep);
  add_flag(keys, "add_space_prefix", tokenizer.add_space_prefix);
  add_flag(keys, "remove_extra_whitespaces", tokenizer.remove_extra_whitespaces);
  add_flag(keys, "normalizer.lowercase", tokenizer.lowercase);
  add_flag(keys, "normalizer.strip_accents", tokenizer.strip_accents);
  if (!tokenizer.charsmap.empty()) keys.push_back(gguf::make_key_u8s(ggml("precompiled_charsmap"), tokenizer.charsmap));
  add_text(keys, "tokenizer.chat_template", tokenizer.templates.main);
  std::vector<std::string> names;
  for (const tokenizer::NamedTemplate& named : tokenizer.templates.named) {
    names.push_back(named.name);
    keys.push_back(gguf::make_key_string("tokenizer.chat_template." + named.name, named.text));
  }
  add_list(keys, "tokenizer.chat_templates", names);
  return keys;
}

Keys no_vocab_keys() {
  return {gguf::make_key_string(ggml("model"), "no_vocab")};
}

}  // namespace modelutils

namespace modelutils::to_gguf {

namespace {

bool may_have_one_for_each_layer(arch::KeyType type) {
  switch (type) {
    case arch::KeyType::u32_or_layers:
    case arch::KeyType::u32_where_used:
    case arch::KeyType::f32_or_layers:
    case arch::KeyType::flag_layers: return true;
    default: return false;
  }
}

// Returns the number of `key` in a list like "KEY=1|OTHER=0", or nullopt if absent.
std::optional<u64> stated_number(std::string_view numbers, std::string_view key) {
  std::optional<u64> found;
  for_each_name(numbers, [&](std::string_view text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || text.substr(0, equals) != key) return;
    u64 value = 0;
    std::from_chars(text.data() + equals + 1, text.data() + text.size(), value);
    found = value;
  });
  return found;
}

class KeyExtender {
 public:
  KeyExtender(const arch::Family& family, const arch::Sizes& sizes, u64 blocks)
      : family_(family), sizes_(sizes), blocks_(blocks), trunk_(sizes.get(arch::symbol::layers) - blocks) {}

  void extend(const arch::Key& row, gguf::OutKey& key) const {
    const gguf::KeyElements elements = gguf::elements_of(key);
    const u64 size = elements.element_size();
    if (size == 0) return;
    std::string bytes(elements.bytes);
    if (!elements.count) {
      if (is_as_in_layers(row, elements)) return;
      bytes.clear();
      for (u64 i = 0; i < trunk_; ++i) bytes += elements.bytes;
    } else if (*elements.count != trunk_) {
      return;
    }
    const std::string last = bytes.substr(bytes.size() - static_cast<std::size_t>(size));
    for (u64 i = trunk_; i < trunk_ + blocks_; ++i) {
      const std::optional<u64> number = number_in(row, i);
      bytes += number ? gguf::encoded_number(elements.type, *number) : last;
    }
    key = gguf::make_key_of_elements(std::move(key.key), elements.type, bytes);
  }

 private:
  std::optional<u64> number_in(const arch::Key& row, u64 block) const {
    if (const auto stated = stated_number(family_.prediction.numbers, row.name)) return stated;
    if (row.symbol.empty()) return std::nullopt;
    return sizes_.find(row.symbol, block);
  }

  // True if a single number, which holds for all layers that have one, is also right for the blocks.
  bool is_as_in_layers(const arch::Key& row, const gguf::KeyElements& elements) const {
    for (u64 i = trunk_; i < trunk_ + blocks_; ++i) {
      const std::optional<u64> number = row.symbol.empty() ? std::nullopt : sizes_.find(row.symbol, i);
      if (number && *number != 0 && number != elements.number(0)) return false;
    }
    return true;
  }

  const arch::Family& family_;
  const arch::Sizes& sizes_;
  u64 blocks_;
  u64 trunk_;
};

}  // namespace

void add_prediction_keys(const arch::Family& family, const arch::Sizes& sizes, u64 blocks,
                         std::vector<gguf::OutKey>& keys) {
  const std::string prefix = std::string(family.gguf) + ".";
  const KeyExtender extender(family, sizes, blocks);
  const std::vector<const arch::Key*> rows = arch::keys_of(family);
  for (gguf::OutKey& key : keys) {
    if (!key.key.starts_with(prefix)) continue;
    const std::string_view name = std::string_view(key.key).substr(prefix.size());
    const auto row = std::ranges::find(rows, name, [](const arch::Key* each) { return each->name; });
    if (row != rows.end() && may_have_one_for_each_layer((*row)->type)) extender.extend(**row, key);
  }
  const auto count = std::ranges::find(keys, prefix + "block_count", &gguf::OutKey::key);
  if (count == keys.end()) return;
  *count = gguf::make_key(count->key, static_cast<u32>(sizes.get(arch::symbol::layers)));
  gguf::OutKey number = gguf::make_key(prefix + "nextn_predict_layers", static_cast<u32>(blocks));
  const auto stated = std::ranges::find(keys, number.key, &gguf::OutKey::key);
  if (stated != keys.end()) {
    *stated = std::move(number);
  } else {
    keys.insert(std::next(count), std::move(number));
  }
}

gguf::OutKey extracted_from(const std::vector<std::string>& tensors, u64 trunk) {
  std::vector<std::string> after;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (arch::block_of(tensors[i]).value_or(0) < trunk) continue;
    after.push_back(i == 0 ? std::string() : tensors[i - 1]);
  }
  return gguf::make_key_strings(std::string(arch::extracted_key), after);
}

}  // namespace modelutils::to_gguf
