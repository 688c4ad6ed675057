#include "arch/gguf_sizes.h"

#include <fmt/core.h>

#include <algorithm>

#include "arch/facts.h"
#include "arch/mla.h"
#include "base/counted.h"

namespace modelutils::arch {

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
