#include "rules/gguf/role_texts.h"

#include <algorithm>

#include "base/byte_reader.h"
#include "tokenizer/token_roles.h"

namespace modelutils::gguf_rules {

namespace {

constexpr std::array<std::string_view, 4> role_names = {"bos", "eos", "eot", "eom"};

}  // namespace

RoleTextsOnTheWay::RoleTextsOnTheWay(const gguf::Index& index, u64 tokens) {
  for (std::size_t i = 0; i < ids_.size(); ++i) {
    ids_[i] = index.unsigned_value(tokenizer::find_token_role(role_names[i])->key);
  }
  if (std::ranges::any_of(ids_, [&](const auto& id) { return id && *id >= tokens; })) ids_ = {};
  find_next({});
}

void RoleTextsOnTheWay::find_next(std::optional<u64> after) {
  next_.reset();
  for (const std::optional<u64>& id : ids_) {
    if (id && (!after || *id > *after) && (!next_ || *id < *next_)) next_ = id;
  }
}

void RoleTextsOnTheWay::take(std::string_view text) {
  for (std::size_t i = 0; i < ids_.size(); ++i) {
    if (ids_[i] == next_) texts_[i] = text;
  }
  find_next(next_);
}

RoleTexts read_role_texts(const ByteSource& source, const gguf::Document& document, const gguf::Index& index) {
  const gguf::ArrayRef* tokens = index.array_value("tokenizer.ggml.tokens");
  if (tokens == nullptr || tokens->element_type != gguf::ValueType::string) return {};
  RoleTextsOnTheWay roles(index, tokens->count);
  ByteReader reader(source, tokens->offset);
  reader.set_big_endian(document.big_endian);
  u64 at = 0;
  while (const std::optional<u64> next = roles.next()) {
    reader.skip_strings(*next - at);
    const u64 size = reader.read<u64>();
    roles.take(reader.read_view(size));
    if (!reader.ok()) return {};
    at = *next + 1;
  }
  return roles.texts();
}

}  // namespace modelutils::gguf_rules
