#include "to_bump/bump5_vocabulary.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <string_view>
#include <unordered_map>

#include "gguf/parse.h"

namespace modelutils {

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
    refuse(suffix, fmt::format("is an array of {} instead of {}", gguf::value_type_name(found->element_type),
                               gguf::value_type_name(*type)));
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
    if (!fits) refuse("tokens", "has more than 2 GiB of text, but offsets are 32 bits wide");
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
