#include "to_gguf/tokenizer_keys.h"

#include <fmt/core.h>

#include "to_gguf/optional_keys.h"
#include "tokenizer/token_roles.h"

namespace modelutils {

namespace {

std::string ggml(std::string_view name) {
  return fmt::format("tokenizer.ggml.{}", name);
}

void add_flag(Keys& keys, std::string_view name, std::optional<bool> flag) {
  if (flag) keys.push_back(gguf::make_key_bool(ggml(name), *flag));
}

}  // namespace

Keys tokenizer_keys(const tokenizer::Tokenizer& tokenizer) {
  Keys keys;
  keys.push_back(gguf::make_key_string(ggml("model"), tokenizer::tokenizer_kind_name(tokenizer.kind)));
  if (!tokenizer.pre.empty()) keys.push_back(gguf::make_key_string(ggml("pre"), tokenizer.pre));
  keys.push_back(gguf::make_key_strings(ggml("tokens"), tokenizer.tokens));
  if (tokenizer::has_scores(tokenizer.kind)) keys.push_back(gguf::make_key_f32s(ggml("scores"), tokenizer.scores));
  keys.push_back(gguf::make_key_i32s(ggml("token_type"), tokenizer.types));
  // llama.cpp does not load byte-level BPE without this key, so write it even if empty.
  if (tokenizer.kind == tokenizer::TokenizerKind::gpt2)
    keys.push_back(gguf::make_key_strings(ggml("merges"), tokenizer.merges));
  for (const tokenizer::TokenRole& role : tokenizer::token_roles()) {
    const auto& id = tokenizer.special.*role.id;
    if (id) keys.push_back(gguf::make_key(std::string(role.key), *id));
  }
  add_flag(keys, "add_bos_token", tokenizer.add_bos);
  add_flag(keys, "add_eos_token", tokenizer.add_eos);
  add_flag(keys, "add_sep_token", tokenizer.add_sep);
  add_flag(keys, "add_space_prefix", tokenizer.add_space_prefix);
  add_flag(keys, "remove_extra_whitespaces", tokenizer.remove_extra_whitespaces);
  if (!tokenizer.charsmap.empty()) keys.push_back(gguf::make_key_u8s(ggml("precompiled_charsmap"), tokenizer.charsmap));
  add_text(keys, "tokenizer.chat_template", tokenizer.templates.main);
  std::vector<std::string> names;
  for (const tokenizer::NamedTemplate& named : tokenizer.templates.named) {
    names.push_back(named.name);
    keys.push_back(gguf::make_key_string("tokenizer.chat_template." + named.name, named.text));
  }
  add_list(keys, "tokenizer.chat_templates", names);
  return keys;
}

Keys no_vocab_keys() {
  return {gguf::make_key_string(ggml("model"), "no_vocab")};
}

}  // namespace modelutils
