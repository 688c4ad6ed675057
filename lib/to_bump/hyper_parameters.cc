#include "to_bump/hyper_parameters.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "base/checked_math.h"
#include "base/counted.h"

namespace modelutils {

namespace {

constexpr u64 largest = std::numeric_limits<u32>::max();  // the header's numbers are u32, except the aligned ones

class HeaderNumbers {
 public:
  HeaderNumbers(const BumpRequest& request, Refusals& refusals) : version_(request.version), refusals_(refusals) {}

  /// Returns an integer from 1 to 2^32 - 1. Some models have one per layer; the header has room for a single value.
  std::optional<u64> number(const arch::Fact& fact) {
    std::optional<u64> value = fact.number();
    if (const arch::LayerNumbers* list = fact.list(); list != nullptr && list->is_whole) {
      value = common_number(fact, *list);
      if (!value) return std::nullopt;
    }
    if (!value || *value == 0 || *value > largest) {
      refuse("gguf2bump-key", fact,
             !fact.is_stated() ? "is missing"
             : value           ? fmt::format("is {}, it must be 1 to {}", *value, largest)
                               : "is not a non-negative whole number");
      return std::nullopt;
    }
    return value;
  }

  std::optional<float> decimal(const arch::Fact& fact) {
    if (const std::optional<double> value = fact.real()) return static_cast<float>(*value);
    if (fact.is_stated()) refuse("gguf2bump-key", fact, "is not a floating-point number");
    return std::nullopt;
  }

  /// Reads head_dim and the row counts of K and V.
  bool read_heads(const arch::Facts& stated, bump::Dimensions& d) {
    const std::optional<u64> heads = number(stated.heads);
    const std::optional<u64> kv_heads = stated.kv_heads.is_stated() ? number(stated.kv_heads) : heads;
    std::optional<u64> head_dim;
    if (stated.key_length.is_stated()) {
      head_dim = number(stated.key_length);
    } else if (heads && d.embed % *heads == 0) {
      head_dim = d.embed / *heads;
    } else if (heads) {
      refuse("gguf2bump-key", stated.key_length,
             fmt::format("is missing, and {} {} not divide the embedding length {}", counted(*heads, "head"),
                         verb(*heads, "does", "do"), d.embed));
    }
    if (!heads || !kv_heads || !head_dim) return false;
    if (stated.value_length.is_stated()) {
      const std::optional<u64> value_length = number(stated.value_length);
      if (value_length && *value_length != *head_dim) {
        refuse("gguf2bump-key", stated.value_length,
               fmt::format("is {}, but attention.key_length is {}; BUMPWGT{} has one length for both", *value_length,
                           *head_dim, version_));
        return false;
      }
    }
    if (*heads % *kv_heads != 0) {
      refuse("gguf2bump-key", stated.kv_heads,
             fmt::format("is {}, which does not divide {}", *kv_heads, counted(*heads, "head")));
      return false;
    }
    d.heads = *heads;
    d.kv_heads = *kv_heads;
    d.head_dim = *head_dim;
    return true;
  }

  void refuse(std::string code, const arch::Fact& fact, std::string message) {
    refusals_.add(std::move(code), "key", fact.name, std::move(message));
  }

 private:
  std::optional<u64> common_number(const arch::Fact& fact, const arch::LayerNumbers& list) {
    if (list.values.empty()) {
      refuse("gguf2bump-key", fact, "is an empty array");
      return std::nullopt;
    }
    const auto whole = [](i64 value) { return static_cast<u64>(std::max<i64>(value, 0)); };
    const i64 first = list.values.front();
    const auto other = std::ranges::find_if(list.values, [&](i64 value) { return value != first; });
    if (other == list.values.end()) return whole(first);
    refuse("gguf2bump-per-layer", fact,
           fmt::format("differs between layers ({} and {}), but BUMPWGT{} has one number for all layers", whole(first),
                       whole(*other), version_));
    return std::nullopt;
  }

  u32 version_;
  Refusals& refusals_;
};

}  // namespace

std::optional<BumpHyperParameters> read_bump_hyper_parameters(arch::Facts stated, const BumpRequest& request,
                                                              Refusals& refusals) {
  if (stated.architecture.empty()) {
    refusals.add("gguf2bump-architecture", "key", "general.architecture",
                 "is missing or not a string; the names of all hyper-parameters start with it");
    return std::nullopt;
  }
  BumpHyperParameters hyper;
  HeaderNumbers numbers(request, refusals);
  bump::Dimensions& d = hyper.dimensions;
  const std::optional<u64> layers = numbers.number(stated.layers);
  const std::optional<u64> embed = numbers.number(stated.width);
  const std::optional<u64> intermediate = numbers.number(stated.feed_forward);
  const std::optional<u64> context = request.context ? request.context : numbers.number(stated.context);
  d.embed = d.aligned_embed = embed.value_or(1);
  const bool has_heads = numbers.read_heads(stated, d);
  hyper.rms_eps = numbers.decimal(stated.norm_epsilon);
  if (!hyper.rms_eps) hyper.rms_eps = numbers.decimal(stated.old_norm_epsilon);
  hyper.rope_theta = numbers.decimal(stated.rope_base).value_or(10000.0f);
  if (!layers || !embed || !intermediate || !context || !has_heads) return std::nullopt;
  if (*layers > bump::max_layers) {
    numbers.refuse("gguf2bump-key", stated.layers,
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
  hyper.rope_dimensions = stated.rotated.is_stated() ? numbers.number(stated.rotated).value_or(d.head_dim) : d.head_dim;
  hyper.stated = std::move(stated);
  return hyper;
}

RopeScalingKeys rope_scaling_keys(const arch::Facts& stated) {
  RopeScalingKeys scaling;
  scaling.type = stated.rope_scaling.text().value_or("");
  scaling.factor = stated.rope_factor.real();
  if (!scaling.factor) scaling.factor = stated.old_rope_factor.real();
  if (scaling.type.empty() && scaling.factor && *scaling.factor != 1) scaling.type = "linear";
  if (scaling.type == "linear" && scaling.factor.value_or(1) == 1) scaling.type.clear();
  if (scaling.type == "none") scaling.type.clear();
  return scaling;
}

}  // namespace modelutils
