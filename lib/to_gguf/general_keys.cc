#include "to_gguf/general_keys.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/path.h"
#include "hf/model_id.h"
#include "to_gguf/optional_keys.h"

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
  keys.push_back(gguf::make_key_string("general.type", "model"));
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
