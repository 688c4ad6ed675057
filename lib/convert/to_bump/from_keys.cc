#include "convert/to_bump/from_keys.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <string_view>
#include <unordered_map>

#include "base/text.h"
#include "base/types.h"
#include "formats/gguf/parse.h"

namespace modelutils {

std::string layer_pattern(std::string_view tensor) {
  constexpr std::string_view prefix = "blk.";
  if (!tensor.starts_with(prefix)) return std::string(tensor);
  const std::size_t end = tensor.find_first_not_of("0123456789", prefix.size());
  if (end == std::string_view::npos || end == prefix.size() || tensor[end] != '.') return std::string(tensor);
  return std::string(prefix) + "*" + std::string(tensor.substr(end));
}

void Refusals::add(std::string code, std::string_view kind, std::string_view subject, std::string message,
                   std::string group) {
  std::string like = group.empty() ? fmt::format("'{}'", layer_pattern(subject)) : std::move(group);
  const auto [known, is_new] = known_.try_emplace({code, like}, errors_.size());
  if (!is_new) {
    ++counts_[known->second];
    return;
  }
  std::string where = subject.empty() ? std::string() : Place{kind, subject}.text();
  errors_.push_back({.code = std::move(code), .message = std::move(message), .where = std::move(where)});
  likes_.push_back(std::move(like));
  counts_.push_back(1);
}

std::vector<Error> Refusals::errors() const {
  std::vector<Error> all = errors_;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (counts_[i] > 1) all[i].message += fmt::format(" (and {} more like {})", counts_[i] - 1, likes_[i]);
  }
  return all;
}

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

namespace {

struct TokenizerType {
  std::string_view model;  // value of tokenizer.ggml.model
  std::string_view type;
};
// The engine treats every model here whose type is SentencePiece, except "llama", as unigram (build_ir_v8.py).
constexpr std::array<TokenizerType, 8> tokenizer_types = {{
    {"llama", "sentencepiece"},
    {"spm", "sentencepiece"},
    {"sentencepiece", "sentencepiece"},
    {"unigram", "sentencepiece"},
    {"t5", "sentencepiece"},
    {"gpt2", "bpe"},
    {"bpe", "bpe"},
    {"wordpiece", "wordpiece"},
}};

constexpr u64 most_bytes = std::numeric_limits<i32>::max();  // offsets are i32

template <typename T>
void append(std::string& out, T value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  out.append(bytes, sizeof value);
}

class VocabularyReader {
 public:
  VocabularyReader(const gguf::SplitSet& set, const gguf::Index& index, u64 rows, Refusals& refusals)
      : source_(*set.files.front().source),
        document_(set.files.front().document),
        index_(index),
        rows_(rows),
        refusals_(refusals) {}

  Result<std::shared_ptr<Bump5Vocabulary>> read() {
    const gguf::ArrayRef* tokens = array("tokens", gguf::ValueType::string);
    const gguf::ArrayRef* merges = array("merges", gguf::ValueType::string);
    if (tokens == nullptr || tokens->count == 0 || rows_ > most_bytes) return nullptr;
    check_model();
    MU_TRY(read_strings(*tokens));
    MU_TRY(read_scores());
    MU_TRY(read_types());
    if (merges != nullptr && refusals_.empty()) MU_TRY(read_merges(*merges));
    return refusals_.empty() ? out_ : nullptr;
  }

 private:
  void refuse(std::string_view suffix, std::string message) {
    refusals_.add("gguf2bump-vocabulary", "key", fmt::format("tokenizer.ggml.{}", suffix), std::move(message));
  }

  // Without a model name, uses the tokenizer that most models of the architecture have.
  void check_model() {
    const auto model = index_.string_value("tokenizer.ggml.model");
    if (!model) return;
    if (!bump5_tokenizer_type(*model)) refuse("model", fmt::format("is '{}', which the engine does not have", *model));
    out_->is_unigram = *model == "t5" || *model == "unigram";
    const gguf::ArrayRef* map = index_.array_value("tokenizer.ggml.precompiled_charsmap");
    out_->has_charsmap = out_->is_unigram && map != nullptr && map->count != 0;
  }

  const gguf::ArrayRef* array(std::string_view suffix, std::optional<gguf::ValueType> type) {
    const std::string key = fmt::format("tokenizer.ggml.{}", suffix);
    const gguf::ArrayRef* found = index_.array_value(key);
    if (found == nullptr) {
      if (index_.key(key) != nullptr) refuse(suffix, "is not an array");
      return nullptr;
    }
    if (!type || found->element_type == *type) return found;
    refuse(suffix, fmt::format("is an array of {} instead of {}", gguf::short_type_name(found->element_type),
                               gguf::short_type_name(*type)));
    return nullptr;
  }

  Status read_strings(const gguf::ArrayRef& tokens) {
    bool fits = true;
    const auto add = [&](std::string_view text) {
      fits = out_->strings.size() + text.size() + 1 <= most_bytes;
      if (!fits) return false;
      append(out_->offsets, static_cast<i32>(out_->strings.size()));
      out_->with_nul += text.find('\0') == std::string_view::npos ? 0 : 1;
      out_->strings.append(text);
      out_->strings.push_back('\0');
      return true;
    };
    MU_TRY(gguf::visit_strings(source_, document_, tokens,
                               [&](u64 id, std::string_view text, u64) { return id < rows_ && add(text); }));
    for (u64 id = tokens.count; id < rows_ && fits; ++id) add(fmt::format("<|pad_{}|>", id));
    if (!fits)
      refuse("tokens", fmt::format("has more than {} of text, but offsets are 32 bits wide", byte_text(most_bytes)));
    return {};
  }

  Status read_scores() {
    const gguf::ArrayRef* scores = array("scores", gguf::ValueType::f32);
    if (scores != nullptr) {
      MU_ASSIGN(const std::vector<double> values, gguf::read_numbers<double>(source_, document_, *scores, 0, rows_));
      for (const double value : values) append(out_->scores, static_cast<float>(value));
    }
    out_->scores.resize(static_cast<std::size_t>(rows_ * 4));
    return {};
  }

  Status read_types() {
    const gguf::ArrayRef* types = array("token_type", std::nullopt);
    if (types != nullptr && types->element_type != gguf::ValueType::string &&
        types->element_type != gguf::ValueType::array) {
      MU_ASSIGN(const std::vector<i64> values, gguf::read_numbers<i64>(source_, document_, *types, 0, rows_));
      for (const i64 value : values) {
        if (value < 0 || value > 255) {
          refuse("token_type", fmt::format("has the element {}, but the file has one byte for each", value));
          break;
        }
        out_->types.push_back(static_cast<char>(value));
      }
    }
    out_->types.resize(static_cast<std::size_t>(rows_));
    return {};
  }

  Status read_merges(const gguf::ArrayRef& merges) {
    std::unordered_map<std::string_view, i32> ids;
    ids.reserve(static_cast<std::size_t>(rows_));
    std::string_view rest = out_->strings;
    for (u64 id = 0; id < rows_; ++id) {
      i32 end = static_cast<i32>(out_->strings.size());
      if (id + 1 < rows_) std::memcpy(&end, out_->offsets.data() + 4 * (id + 1), 4);
      const std::size_t size = static_cast<std::size_t>(end) - (out_->strings.size() - rest.size());
      ids.insert_or_assign(rest.substr(0, size - 1), static_cast<i32>(id));
      rest.remove_prefix(size);
    }
    std::string joined;
    return gguf::visit_strings(source_, document_, merges, [&](u64, std::string_view text, u64) {
      const std::size_t space = text.find(' ');
      if (space == std::string_view::npos) {
        ++out_->left_out;
        return true;
      }
      joined.assign(text.substr(0, space)).append(text.substr(space + 1));
      const auto left = ids.find(text.substr(0, space));
      const auto right = ids.find(text.substr(space + 1));
      const auto both = ids.find(joined);
      if (left == ids.end() || right == ids.end() || both == ids.end()) {
        ++out_->left_out;
        return true;
      }
      for (const auto& part : {left, right, both}) append(out_->merges, part->second);
      return true;
    });
  }

  const ByteSource& source_;
  const gguf::Document& document_;
  const gguf::Index& index_;
  u64 rows_;
  Refusals& refusals_;
  std::shared_ptr<Bump5Vocabulary> out_ = std::make_shared<Bump5Vocabulary>();
};

}  // namespace

std::optional<std::string_view> bump5_tokenizer_type(std::string_view model) {
  const auto found = std::ranges::find(tokenizer_types, model, &TokenizerType::model);
  return found == tokenizer_types.end() ? std::nullopt : std::optional(found->type);
}

Result<std::shared_ptr<Bump5Vocabulary>> read_bump5_vocabulary(const gguf::SplitSet& set, const gguf::Index& index,
                                                               u64 rows, Refusals& refusals) {
  return VocabularyReader(set, index, rows, refusals).read();
}

}  // namespace modelutils
