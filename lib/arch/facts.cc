#include "arch/facts.h"

#include <fmt/core.h>

#include <algorithm>
#include <type_traits>

#include "arch/encoder_rows.h"
#include "arch/families.h"
#include "arch/geometry.h"
#include "arch/key_writer.h"
#include "arch/layer_kinds.h"
#include "base/text.h"
#include "formats/gguf/parse.h"
#include "formats/gguf/write.h"
#include "formats/hf/config.h"

namespace modelutils::arch {

namespace {

constexpr u64 longest_list = 4096;  // eight times the loader's layer limit

struct FactRow {
  Fact Facts::*fact;
  std::string_view key;          // without "<architecture>."
  std::string_view fields = {};  // in config.json
};

// clang-format off
constexpr FactRow fact_rows[] = {
    {&Facts::layers, "block_count", hf::fields::layers},
    {&Facts::predicted_layers, "nextn_predict_layers"},
    {&Facts::leading_dense_layers, "leading_dense_block_count"},
    {&Facts::loops, "num_loops"},
    {&Facts::context, "context_length", hf::fields::context},
    {&Facts::width, "embedding_length", hf::fields::width},
    {&Facts::layer_input_width, "embedding_length_per_layer_input"},
    {&Facts::vocabulary, "vocab_size", "vocab_size"},
    {&Facts::feed_forward, "feed_forward_length", hf::fields::feed_forward},
    {&Facts::heads, "attention.head_count", hf::fields::heads},
    {&Facts::kv_heads, "attention.head_count_kv", hf::fields::kv_heads},
    {&Facts::key_length, "attention.key_length", "head_dim"},
    {&Facts::value_length, "attention.value_length"},
    {&Facts::key_length_sliding, "attention.key_length_swa"},
    {&Facts::value_length_sliding, "attention.value_length_swa"},
    {&Facts::key_length_latent, "attention.key_length_mla"},
    {&Facts::value_length_latent, "attention.value_length_mla"},
    {&Facts::query_rank, "attention.q_lora_rank"},
    {&Facts::kv_rank, "attention.kv_lora_rank"},
    {&Facts::shared_kv_layers, "attention.shared_kv_layers"},
    {&Facts::experts, "expert_count", hf::fields::experts},
    {&Facts::experts_used, "expert_used_count", hf::fields::experts_used},
    {&Facts::expert_width, "expert_feed_forward_length"},
    {&Facts::shared_experts, "expert_shared_count"},
    {&Facts::shared_expert_width, "expert_shared_feed_forward_length"},
    {&Facts::expert_groups, "expert_group_count"},
    {&Facts::expert_groups_used, "expert_group_used_count"},
    {&Facts::window, "attention.sliding_window"},
    {&Facts::window_pattern, "attention.sliding_window_pattern"},
    {&Facts::recurrent_layers, "attention.recurrent_layers"},
    {&Facts::attention_every, "full_attention_interval"},
    {&Facts::ssm_kernel, "ssm.conv_kernel"},
    {&Facts::ssm_width, "ssm.inner_size"},
    {&Facts::ssm_state, "ssm.state_size"},
    {&Facts::ssm_groups, "ssm.group_count"},
    {&Facts::token_shifts, "token_shift_count"},
    {&Facts::wkv_head, "wkv.head_size"},
    {&Facts::convolution_length, "shortconv.l_cache"},
    {&Facts::delta_head, "kda.head_dim"},
    {&Facts::indexer_key_length, "attention.indexer.key_length"},
    {&Facts::indexer_heads, "attention.indexer.head_count"},
    {&Facts::indexer_types, "attention.indexer.types"},
    {&Facts::compress_ratios, "attention.compress_ratios"},
    {&Facts::hyper_connections, "hyper_connection.count"},
    {&Facts::norm_epsilon, "attention.layer_norm_rms_epsilon"},
    {&Facts::old_norm_epsilon, "norm_rms_eps"},
    {&Facts::rotated, "rope.dimension_count"},
    {&Facts::rope_base, "rope.freq_base"},
    {&Facts::rope_base_sliding, "rope.freq_base_swa"},
    {&Facts::rope_scaling, "rope.scaling.type"},
    {&Facts::rope_factor, "rope.scaling.factor"},
    {&Facts::old_rope_factor, "rope.scale_linear"},
    {&Facts::rope_context, "rope.scaling.original_context_length"},
    {&Facts::pooling, "pooling_type"},
    {&Facts::causal, "attention.causal"},
    {&Facts::output_width, "embedding_length_out"},
    {&Facts::yarn_attention_factor, "rope.scaling.yarn_attn_factor"},
    {&Facts::yarn_extrapolation_factor, "rope.scaling.yarn_ext_factor"},
    {&Facts::yarn_beta_fast, "rope.scaling.yarn_beta_fast"},
    {&Facts::yarn_beta_slow, "rope.scaling.yarn_beta_slow"},
};
// clang-format on

bool is_whole_type(gguf::ValueType type) {
  using enum gguf::ValueType;
  return gguf::value_size(type) != 0 && type != f32 && type != f64 && type != boolean;
}

Result<Fact::Value> list_of(const gguf::SetFile& file, const gguf::ArrayRef& array) {
  LayerNumbers list;
  list.length = array.count;
  list.is_numeric = gguf::value_size(array.element_type) != 0;
  list.is_whole = is_whole_type(array.element_type);
  if (list.is_numeric) {
    MU_ASSIGN(list.values, gguf::read_numbers<i64>(*file.source, file.document, array, 0, longest_list));
  }
  return list;
}

Result<Fact::Value> value_of(const gguf::SetFile& file, const gguf::KeyValue& key) {
  return std::visit(
      [&](const auto& held) -> Result<Fact::Value> {
        using T = std::decay_t<decltype(held)>;
        if constexpr (std::is_integral_v<T>) {
          if (std::is_signed_v<T> && held < T{0}) return Fact::Unusable{};
          return static_cast<u64>(held);
        } else if constexpr (std::is_floating_point_v<T>) {
          return static_cast<double>(held);
        } else if constexpr (std::is_same_v<T, gguf::Bool>) {
          return held.byte != 0;
        } else if constexpr (std::is_same_v<T, std::string>) {
          return held;
        } else {
          return list_of(file, held);
        }
      },
      key.value);
}

Fact::Value value_of(const gguf::OutKey& key) {
  const gguf::KeyElements elements = gguf::elements_of(key);
  if (elements.count) {
    LayerNumbers list{*elements.count, elements.element_size() != 0, is_whole_type(elements.type), {}};
    for (u64 i = 0; list.is_numeric && i < std::min(list.length, longest_list); ++i) {
      list.values.push_back(static_cast<i64>(elements.number(i).value_or(0)));
    }
    return list;
  }
  if (key.type == gguf::ValueType::boolean) return elements.number(0) != u64{0};
  if (const auto number = elements.number(0)) return *number;
  if (const auto real = elements.real()) return *real;
  if (const auto text = elements.text()) return std::string(*text);
  return Fact::Unusable{};
}

// Returns the keys that mlx2gguf would write; empty if the family is unknown or a size is missing.
Facts facts_of_family(const hf::Config& config) {
  Facts facts;
  const Family* family = find_family(config);
  if (family == nullptr || !config.block_count) return facts;
  const Result<Sizes> sizes = solve_sizes(*family, config, *config.block_count, {}, {});
  if (!sizes) return facts;
  const Result<ModelKeys> written = write_keys(*family, config, *sizes, false);
  if (!written) return facts;
  facts.architecture = family->gguf;
  if (is_classifier(config)) facts.labels = label_texts(config);
  for (const FactRow& row : fact_rows) {
    Fact& fact = facts.*row.fact;
    fact.name = facts.architecture + "." + std::string(row.key);
    const auto key = std::ranges::find(written->keys, fact.name, &gguf::OutKey::key);
    if (key != written->keys.end()) fact.value = value_of(*key);
  }
  return facts;
}

}  // namespace

Result<Fact> read_fact(const gguf::Index& index, const gguf::SetFile& file, std::string_view key) {
  Fact fact;
  fact.name = index.arch_key(key);
  if (const gguf::KeyValue* found = index.key(fact.name)) {
    MU_ASSIGN(fact.value, value_of(file, *found));
  }
  return fact;
}

Result<Facts> read_facts(const gguf::Index& index, const gguf::SetFile& file) {
  Facts facts;
  facts.architecture = index.architecture();
  if (const gguf::ArrayRef* tokens = index.array_value("tokenizer.ggml.tokens")) facts.tokens = tokens->count;
  const gguf::TensorInfo* matrix = index.tensor("token_embd.weight");
  if (matrix != nullptr && matrix->ne.size() == 2) facts.embedding_rows = matrix->ne[1];
  for (const FactRow& row : fact_rows) {
    MU_ASSIGN(facts.*row.fact, read_fact(index, file, row.key));
  }
  const gguf::ArrayRef* labels = index.array_value(index.arch_key("classifier.output_labels"));
  if (labels != nullptr && labels->element_type == gguf::ValueType::string && labels->count <= longest_list) {
    MU_ASSIGN(facts.labels, gguf::read_strings(*file.source, file.document, *labels));
  }
  return facts;
}

Result<Facts> read_facts(const gguf::SplitSet& set) {
  return read_facts(gguf::Index(set.files.front().document), set.files.front());
}

Facts read_facts(const hf::Config& config) {
  Facts facts = facts_of_family(config);
  for (const FactRow& row : fact_rows) {
    Fact& fact = facts.*row.fact;
    const auto number = fact.is_stated() ? std::nullopt : config.count_field(row.fields);
    if (number) fact = {std::string(stated_field(config, row.fields)), *number};
  }
  return facts;
}

namespace {

class Reader {
 public:
  Reader(const Family& family, const gguf::Index& index, const gguf::SetFile& file)
      : family_(family), index_(index), file_(file) {}

  Result<Sizes> read() {
    const std::vector<const Key*> keys = keys_of(family_);
    for (const Key* key : keys) {
      if (key->name == latent_key) sizes_.set(old_latent, is_zero(latent_key) ? 1 : 0);
      if (key->name == latent_key && is_zero(latent_key)) continue;  // treat 0 like a missing key
      if (!key->symbol.empty()) MU_TRY(read_key(*key));
    }
    if (const gguf::ArrayRef* tokens = index_.array_value("tokenizer.ggml.tokens")) {
      sizes_.set(symbol::vocabulary, tokens->count);
    }
    // Defaults may depend on sizes of later rows, so apply them last.
    for (const Key* key : keys) {
      if (key->symbol.empty() || key->loader_default.empty() || !sizes_.values(key->symbol).empty()) continue;
      if (is_pattern(*key)) {
        default_for_layers(*key);
      } else if (const auto value = evaluate(key->loader_default, sizes_)) {
        sizes_.set(key->symbol, *value);
      }
    }
    return check_experts();
  }

 private:
  tl::unexpected<Error> unusable(const std::string& key, std::string message) const {
    return input_error("loader-key", std::move(message), at_key(key));
  }

  bool is_zero(std::string_view name) const {
    const std::string full = index_.arch_key(name);
    return index_.key(full) == nullptr || index_.unsigned_value(full) == u64{0};
  }

  static bool is_pattern(const Key& key) { return key.type == KeyType::flag_layers || key.type == KeyType::flag_trunk; }

  void default_for_layers(const Key& key) {
    std::vector<u64> values;
    for (u64 layer = 0; layer < sizes_.get(symbol::layers); ++layer) {
      values.push_back(evaluate(key.loader_default, sizes_, layer).value_or(0));
    }
    sizes_.set_layers(key.symbol, std::move(values));
    sizes_.settle(key.symbol);
  }

  Status read_key(const Key& key) {
    MU_ASSIGN(const Fact fact, read_fact(index_, file_, key.name));
    const std::string& name = fact.name;
    if (key.type == KeyType::texts) {
      if (fact.list() != nullptr) sizes_.set(key.symbol, fact.list()->length);
      return {};
    }
    const bool required = key.need == Need::required;
    const u64 limit = largest_size(key.symbol);
    const bool may_be_layers =
        key.type == KeyType::u32_or_layers || key.type == KeyType::u32_where_used || is_pattern(key);
    if (may_be_layers && fact.list() != nullptr) return read_layers(key, fact, limit);
    if (key.type == KeyType::u32_of_some && fact.list() != nullptr) return read_some(key, fact, limit);
    const std::optional<u64> value = fact.number();
    if (!value && (required || fact.is_stated())) {
      return unusable(name, !fact.is_stated() ? std::string(absence(family_, key.name))
                            : required        ? std::string("is not a whole number, but llama.cpp requires one")
                                              : fmt::format("is not a whole number up to {}", limit));
    }
    if (!value) return {};
    if (*value > limit || (required && *value == 0)) {
      return unusable(name, required ? fmt::format("is {}, it must be 1 to {}", *value, limit)
                                     : fmt::format("is not a whole number up to {}", limit));
    }
    sizes_.set(key.symbol, *value);
    return {};
  }

  // Reads an array in which all layers with a number other than 0 must agree, and stores that number.
  Status read_some(const Key& key, const Fact& fact, u64 limit) {
    MU_ASSIGN(const std::vector<u64> values, numbers_of_layers(fact, limit, sizes_.get(symbol::layers)));
    u64 found = 0;
    for (const u64 value : values) {
      if (found != 0 && value != 0 && value != found) {
        return unusable(fact.name, fmt::format("contains {} and {}; layers that have it must agree", found, value));
      }
      found = std::max(found, value);
    }
    if (found == 0) return unusable(fact.name, "has no layer with a number above 0");
    sizes_.set(key.symbol, found);
    return {};
  }

  Status read_layers(const Key& key, const Fact& fact, u64 limit) {
    const u64 layers = sizes_.get(symbol::layers);
    const u64 trunk = is_pattern(key) ? layers - prediction_blocks(layers) : layers;
    const bool has_trunk = key.type == KeyType::flag_trunk || fact.list()->length == trunk;
    MU_ASSIGN(std::vector<u64> values, numbers_of_layers(fact, limit, has_trunk ? trunk : layers));
    values.resize(static_cast<std::size_t>(layers), 1);
    sizes_.set_layers(key.symbol, std::move(values));
    sizes_.settle(key.symbol);
    return {};
  }

  // Returns the number of blocks that predict further tokens, 0 if the architecture has none. Arrays of flags may stop
  // before these blocks.
  u64 prediction_blocks(u64 blocks) const {
    const u64 extra = index_.unsigned_value(index_.arch_key("nextn_predict_layers")).value_or(0);
    return family_.cache.prediction == PredictionBlocks::unknown || extra >= blocks ? 0 : extra;
  }

  Result<std::vector<u64>> numbers_of_layers(const Fact& fact, u64 limit, u64 layers) const {
    const LayerNumbers& list = *fact.list();
    if (!list.is_numeric || list.length != layers) {
      return unusable(fact.name, fmt::format("is an array of {}, but needs one number for each of the {} layers",
                                             list.length, layers));
    }
    std::vector<u64> values;
    for (const i64 value : list.values) {
      values.push_back(static_cast<u64>(std::max<i64>(value, 0)));
      if (values.back() <= limit) continue;
      return unusable(fact.name, fmt::format("contains {}, at most {} is allowed", value, limit));
    }
    return values;
  }

  Result<Sizes> check_experts() {
    const u64 experts = sizes_.get(symbol::experts);
    const u64 used = sizes_.get(symbol::experts_used);
    if ((experts == 0) != (used == 0) || used > experts) {
      return unusable(
          index_.arch_key("expert_used_count"),
          fmt::format("{} of {} {} used: llama.cpp aborts", used, counted(experts, "expert"), verb(used, "is", "are")));
    }
    return std::move(sizes_);
  }

  const Family& family_;
  const gguf::Index& index_;
  const gguf::SetFile& file_;
  Sizes sizes_;
};

}  // namespace

std::string_view absence(const Family& family, std::string_view name) {
  return has_name(family.loads_without, name)
             ? "is missing: llama.cpp loads the file, but cannot compute what the model should"
             : "is missing, but llama.cpp requires it";
}

Result<Sizes> read_gguf_sizes(const Family& family, const gguf::Index& index, const gguf::SetFile& file) {
  return Reader(family, index, file).read();
}

void leave_out_prediction(const Family& family, const gguf::Index& index, Sizes& sizes) {
  const u64 extra = index.unsigned_value(index.arch_key("nextn_predict_layers")).value_or(0);
  const u64 blocks = sizes.get(symbol::layers);
  if (extra == 0 || extra >= blocks) return;
  for (const Key* key : keys_of(family)) {
    std::vector<u64> values = sizes.values(key->symbol);
    if (values.size() != blocks || blocks == 1) continue;
    values.resize(static_cast<std::size_t>(blocks - extra));
    sizes.set_layers(key->symbol, std::move(values));
    sizes.settle(key->symbol);
  }
  sizes.set(symbol::layers, blocks - extra);
}

Sizes stated_gguf_sizes(const Family& family, const gguf::Index& index) {
  Sizes sizes;
  for (const Key* key : keys_of(family)) {
    if (key->symbol.empty()) continue;
    if (const auto value = index.unsigned_value(index.arch_key(key->name))) sizes.set(key->symbol, *value);
  }
  return sizes;
}

}  // namespace modelutils::arch
