#include "to_bump/hyper_parameters.h"

#include <fmt/core.h>

#include <limits>

#include "base/checked_math.h"
#include "base/counted.h"
#include "gguf/parse.h"

namespace modelutils {

namespace {

constexpr u64 largest = std::numeric_limits<u32>::max();  // the header's numbers are u32, except the aligned ones

bool is_integer(gguf::ValueType type) {
  using gguf::ValueType;
  return type != ValueType::f32 && type != ValueType::f64 && type != ValueType::string && type != ValueType::array &&
         type != ValueType::boolean;
}

class KeyReader {
 public:
  KeyReader(const gguf::SplitSet& set, const gguf::Index& index, u32 version, Refusals& refusals)
      : file_(set.files.front()), index_(index), version_(version), refusals_(refusals) {}

  /// The output file's version.
  u32 version() const { return version_; }

  bool has(std::string_view suffix) const { return index_.key(index_.arch_key(suffix)) != nullptr; }

  /// Reads an integer from 1 to 2^32 - 1. Some models have one per layer; the header has room for a single value.
  Result<std::optional<u64>> number(std::string_view suffix) {
    const std::string key = index_.arch_key(suffix);
    std::optional<u64> value = index_.unsigned_value(key);
    if (const gguf::ArrayRef* array = index_.array_value(key); array != nullptr && is_integer(array->element_type)) {
      MU_ASSIGN(value, common_element(key, *array));
      if (!value) return value;
    }
    if (!value || *value == 0 || *value > largest) {
      refuse("gguf2bump-key", key,
             index_.key(key) == nullptr ? "is missing"
             : value                    ? fmt::format("is {}, it must be 1 to {}", *value, largest)
                                        : "is not a non-negative whole number");
      return std::nullopt;
    }
    return value;
  }

  std::optional<float> decimal(std::string_view suffix) {
    const std::string key = index_.arch_key(suffix);
    const std::optional<double> value = index_.float_value(key);
    if (value) return static_cast<float>(*value);
    if (index_.key(key) != nullptr) refuse("gguf2bump-key", key, "is not a floating-point number");
    return std::nullopt;
  }

  void refuse(std::string code, std::string_view key, std::string message) {
    refusals_.add(std::move(code), "key", key, std::move(message));
  }

 private:
  Result<std::optional<u64>> common_element(const std::string& key, const gguf::ArrayRef& array) {
    MU_ASSIGN(const std::vector<u64> values,
              gguf::read_numbers<u64>(*file_.source, file_.document, array, 0, bump::max_layers));
    for (const u64 value : values) {
      if (value == values.front()) continue;
      refuse("gguf2bump-per-layer", key,
             fmt::format("differs between layers ({} and {}), but BUMPWGT{} has one number for all layers",
                         values.front(), value, version_));
      return std::nullopt;
    }
    if (values.empty()) {
      refuse("gguf2bump-key", key, "is an empty array");
      return std::nullopt;
    }
    return values.front();
  }

  const gguf::SetFile& file_;
  const gguf::Index& index_;
  u32 version_;
  Refusals& refusals_;
};

// Reads head_dim and the row counts of K and V.
Result<bool> read_heads(KeyReader& keys, const gguf::Index& index, bump::Dimensions& d) {
  MU_ASSIGN(const std::optional<u64> heads, keys.number("attention.head_count"));
  std::optional<u64> kv_heads = heads;
  if (keys.has("attention.head_count_kv")) {
    MU_ASSIGN(kv_heads, keys.number("attention.head_count_kv"));
  }
  std::optional<u64> head_dim;
  if (keys.has("attention.key_length")) {
    MU_ASSIGN(head_dim, keys.number("attention.key_length"));
  } else if (heads && d.embed % *heads == 0) {
    head_dim = d.embed / *heads;
  } else if (heads) {
    keys.refuse("gguf2bump-key", index.arch_key("attention.key_length"),
                fmt::format("is missing, and {} {} not divide the embedding length {}", counted(*heads, "head"),
                            verb(*heads, "does", "do"), d.embed));
  }
  if (!heads || !kv_heads || !head_dim) return false;
  if (keys.has("attention.value_length")) {
    MU_ASSIGN(const std::optional<u64> value_length, keys.number("attention.value_length"));
    if (value_length && *value_length != *head_dim) {
      keys.refuse("gguf2bump-key", index.arch_key("attention.value_length"),
                  fmt::format("is {}, but attention.key_length is {}; BUMPWGT{} has one length for both", *value_length,
                              *head_dim, keys.version()));
      return false;
    }
  }
  if (*heads % *kv_heads != 0) {
    keys.refuse("gguf2bump-key", index.arch_key("attention.head_count_kv"),
                fmt::format("is {}, which does not divide {}", *kv_heads, counted(*heads, "head")));
    return false;
  }
  d.heads = *heads;
  d.kv_heads = *kv_heads;
  d.head_dim = *head_dim;
  return true;
}

}  // namespace

Result<std::optional<BumpHyperParameters>> read_bump_hyper_parameters(const gguf::SplitSet& set,
                                                                      const gguf::Index& index,
                                                                      const BumpRequest& request, Refusals& refusals) {
  BumpHyperParameters hyper;
  hyper.architecture = index.architecture();
  if (hyper.architecture.empty()) {
    refusals.add("gguf2bump-architecture", "key", "general.architecture",
                 "is missing or not a string; the names of all hyper-parameters start with it");
    return std::nullopt;
  }
  KeyReader keys(set, index, request.version, refusals);
  bump::Dimensions& d = hyper.dimensions;
  MU_ASSIGN(const std::optional<u64> layers, keys.number("block_count"));
  MU_ASSIGN(const std::optional<u64> embed, keys.number("embedding_length"));
  MU_ASSIGN(const std::optional<u64> intermediate, keys.number("feed_forward_length"));
  std::optional<u64> context = request.context;
  if (!context) {
    MU_ASSIGN(context, keys.number("context_length"));
  }
  d.embed = d.aligned_embed = embed.value_or(1);
  MU_ASSIGN(const bool has_heads, read_heads(keys, index, d));
  hyper.rms_eps = keys.decimal("attention.layer_norm_rms_epsilon");
  if (!hyper.rms_eps) hyper.rms_eps = keys.decimal("norm_rms_eps");  // name in some old files
  hyper.rope_theta = keys.decimal("rope.freq_base").value_or(10000.0f);
  if (!layers || !embed || !intermediate || !context || !has_heads) return std::nullopt;
  if (*layers > bump::max_layers) {
    keys.refuse("gguf2bump-key", index.arch_key("block_count"),
                fmt::format("is {}, but at most {} layers can be converted", *layers, bump::max_layers));
    return std::nullopt;
  }
  d.layers = *layers;
  d.intermediate = *intermediate;
  d.context = *context;
  d.aligned_head = checked_round_up(d.head_dim, request.align_head == 0 ? 1 : request.align_head).value_or(0);
  if (d.aligned_head == 0 || d.aligned_head > largest) {
    refusals.add(
        "gguf2bump-align-head", {}, {},
        fmt::format("heads of {} elements cannot be rounded up to a multiple of {}", d.head_dim, request.align_head));
    return std::nullopt;
  }
  hyper.rope_dimensions = d.head_dim;
  if (keys.has("rope.dimension_count")) {
    MU_ASSIGN(const std::optional<u64> rotated, keys.number("rope.dimension_count"));
    hyper.rope_dimensions = rotated.value_or(d.head_dim);
  }
  return hyper;
}

RopeScalingKeys rope_scaling_keys(const gguf::Index& index) {
  RopeScalingKeys scaling;
  scaling.type = index.string_value(index.arch_key("rope.scaling.type")).value_or("");
  scaling.factor = index.float_value(index.arch_key("rope.scaling.factor"));
  if (!scaling.factor) scaling.factor = index.float_value(index.arch_key("rope.scale_linear"));  // in some old files
  if (scaling.type.empty() && scaling.factor && *scaling.factor != 1) scaling.type = "linear";
  if (scaling.type == "linear" && scaling.factor.value_or(1) == 1) scaling.type.clear();
  if (scaling.type == "none") scaling.type.clear();
  return scaling;
}

}  // namespace modelutils
