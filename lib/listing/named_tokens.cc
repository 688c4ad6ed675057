#include "listing/named_tokens.h"

#include <algorithm>

#include "gguf/keys.h"
#include "gguf/parse.h"
#include "tokenizer/token_roles.h"

namespace modelutils {

std::vector<NamedToken> named_tokens(const gguf::SplitSet& set) {
  const gguf::SetFile& file = set.files.front();
  const gguf::Index index(file.document);
  const gguf::ArrayRef* texts = index.array_value("tokenizer.ggml.tokens");
  std::vector<NamedToken> named;
  if (texts == nullptr || texts->element_type != gguf::ValueType::string) return named;
  u64 highest = 0;
  for (const tokenizer::TokenRole& role : tokenizer::token_roles()) {
    const std::optional<u64> id = index.unsigned_value(role.key);
    if (!id || *id >= texts->count) continue;
    named.push_back({role.name, role.key, *id, {}});
    highest = std::max(highest, *id);
  }
  if (named.empty()) return named;
  const Status read = gguf::visit_strings(*file.source, file.document, *texts, [&](u64 id, std::string_view text, u64) {
    for (NamedToken& token : named) {
      if (token.id == id) token.text = text;
    }
    return id < highest;
  });
  if (!read) named.clear();
  return named;
}

}  // namespace modelutils
