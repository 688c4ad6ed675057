#include "tokenizer/encode/keys.h"

#include <fmt/core.h>

#include <utility>

#include "base/place.h"
#include "gguf/keys.h"
#include "gguf/parse.h"
#include "tokenizer/charsmap.h"
#include "tokenizer/token_numbers.h"
#include "tokenizer/token_roles.h"

namespace modelutils::tokenizer {

namespace {

constexpr std::size_t most_tokens = std::size_t{1} << 24;  // as for embedding rows

class EncodeKeyReader {
 public:
  explicit EncodeKeyReader(const gguf::SplitSet& set) : file_(set.files.front()), index_(file_.document) {}

  Result<EncodeKeys> read() {
    const auto text = [&](std::string_view key) { return std::string(index_.string_value(key).value_or("")); };
    out_.model = text("tokenizer.ggml.model");
    if (out_.model.empty()) return refuse("tok-missing", "tokenizer.ggml.model", "is missing");
    out_.pre = text("tokenizer.ggml.pre");
    out_.architecture = text("general.architecture");
    out_.name = text("general.name");
    MU_ASSIGN(out_.tokens, strings("tokenizer.ggml.tokens", most_tokens));
    if (out_.tokens.empty()) return refuse("tok-missing", "tokenizer.ggml.tokens", "is missing or empty");
    MU_TRY(read_numbers());
    out_.has_merges = index_.array_value("tokenizer.ggml.merges") != nullptr;
    MU_ASSIGN(out_.merges, strings("tokenizer.ggml.merges", most_tokens));
    MU_TRY(read_map_of_characters());
    for (const TokenRole& role : token_roles()) {
      const auto id = index_.unsigned_value(role.key);
      if (id && *id < out_.tokens.size()) out_.special.*role.id = static_cast<u32>(*id);
    }
    out_.add_bos = index_.bool_value("tokenizer.ggml.add_bos_token");
    out_.add_eos = index_.bool_value("tokenizer.ggml.add_eos_token");
    out_.add_space_prefix = index_.bool_value("tokenizer.ggml.add_space_prefix");
    out_.remove_extra_whitespaces = index_.bool_value("tokenizer.ggml.remove_extra_whitespaces");
    out_.lowercase = index_.bool_value("tokenizer.ggml.normalizer.lowercase");
    out_.strip_accents = index_.bool_value("tokenizer.ggml.normalizer.strip_accents");
    return std::move(out_);
  }

 private:
  tl::unexpected<Error> refuse(std::string code, std::string_view key, std::string message) const {
    return input_error(std::move(code), std::move(message), at_key(key), {}, file_.path);
  }

  Result<std::vector<std::string>> strings(std::string_view key, std::size_t most) const {
    const gguf::ArrayRef* array = index_.array_value(key);
    if (array == nullptr) return std::vector<std::string>();
    if (array->element_type != gguf::ValueType::string || array->count > most) {
      return refuse("tok-keys", key, fmt::format("is not an array of at most {} texts", most));
    }
    return gguf::read_strings(*file_.source, file_.document, *array);
  }

  Status read_numbers() {
    MU_ASSIGN(const std::vector<i64> types,
              token_numbers<i64>(file_, index_, "tokenizer.ggml.token_type", out_.tokens.size()));
    for (const i64 type : types) out_.types.push_back(type >= 0 && type <= 6 ? static_cast<i32>(type) : 0);
    MU_ASSIGN(const std::vector<double> scores,
              token_numbers<double>(file_, index_, "tokenizer.ggml.scores", out_.tokens.size()));
    for (const double score : scores) out_.scores.push_back(static_cast<float>(score));
    return {};
  }

  Status read_map_of_characters() {
    constexpr std::string_view key = "tokenizer.ggml.precompiled_charsmap";
    const gguf::ArrayRef* array = index_.array_value(key);
    if (array == nullptr || array->count == 0) return {};
    auto bytes = read_charsmap(*file_.source, *array);
    if (!bytes) return refuse(bytes.error().code, key, bytes.error().message);
    out_.charsmap = std::move(*bytes);
    return {};
  }

  const gguf::SetFile& file_;
  const gguf::Index index_;
  EncodeKeys out_;
};

}  // namespace

Result<EncodeKeys> read_encode_keys(const gguf::SplitSet& set) {
  return EncodeKeyReader(set).read();
}

EncodeKeys encode_keys(Tokenizer tokenizer, std::string architecture, std::string name) {
  EncodeKeys keys;
  keys.model = tokenizer_kind_name(tokenizer.kind);
  keys.pre = std::move(tokenizer.pre);
  keys.architecture = std::move(architecture);
  keys.name = std::move(name);
  keys.tokens = std::move(tokenizer.tokens);
  keys.scores = std::move(tokenizer.scores);
  keys.types = std::move(tokenizer.types);
  keys.merges = std::move(tokenizer.merges);
  keys.has_merges = tokenizer.kind == TokenizerKind::gpt2;
  keys.charsmap = std::move(tokenizer.charsmap);
  keys.special = tokenizer.special;
  keys.add_bos = tokenizer.add_bos;
  keys.add_eos = tokenizer.add_eos;
  keys.add_space_prefix = tokenizer.add_space_prefix;
  keys.remove_extra_whitespaces = tokenizer.remove_extra_whitespaces;
  return keys;
}

}  // namespace modelutils::tokenizer
