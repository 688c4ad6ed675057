// Keys of the vocabulary.
// One row for each: key_facts.h says what the members mean.
#include "arch/key_facts.h"

namespace modelutils::arch {

namespace {

// clang-format off
constexpr KeyFacts rows_of_tokenizer[] = {
    {.name = "tokenizer.ggml.model", .types = "string", .readers = "*", .needed_by = "*", .absent = "refused",
     .means = "kind of vocabulary: llama, gpt2, bert, t5, rwkv, plamo2, gemma4, hybriddna, whitespace, no_vocab"},
    {.name = "tokenizer.ggml.pre", .types = "string", .readers = "*",
     .absent = "the default pre-tokenizer, with a warning", .means = "how text is cut before it is encoded"},
    {.name = "tokenizer.ggml.tokens", .types = "string[]", .length = "tokens", .readers = "*", .needed_by = "*",
     .absent = "refused", .means = "texts of the tokens"},
    {.name = "tokenizer.ggml.token_type", .types = "i32[]", .length = "tokens", .readers = "*",
     .absent = "every token is a normal one",
     .means = "kinds of the tokens: 1 normal, 2 unknown, 3 control, 4 of the user, 5 unused, 6 a byte", .least = 0,
     .most = 6},
    {.name = "tokenizer.ggml.token_type_count", .types = "u32", .readers = "*", .absent = "0",
     .means = "kinds of tokens that have an embedding (BERT)", .least = 0},
    {.name = "tokenizer.ggml.scores", .types = "f32[]|i32[]", .length = "tokens", .readers = "*",
     .absent = "0 for every token", .means = "scores of the tokens"},
    {.name = "tokenizer.ggml.merges", .types = "string[]", .length = "any", .readers = "*",
     .absent = "refused for byte-level vocabularies", .means = "pairs that are merged, best first"},
    {.name = "tokenizer.ggml.bos_token_id", .types = "u32", .readers = "*",
     .absent = "what the kind of vocabulary has wired in", .means = "token that begins a text", .least = 0},
    {.name = "tokenizer.ggml.eos_token_id", .types = "u32", .readers = "*",
     .absent = "what the kind of vocabulary has wired in", .means = "token that ends a text", .least = 0},
    {.name = "tokenizer.ggml.eot_token_id", .types = "u32", .readers = "*", .absent = "found by its text",
     .means = "token that ends a turn", .least = 0},
    {.name = "tokenizer.ggml.eom_token_id", .types = "u32", .readers = "*", .absent = "found by its text",
     .means = "token that ends a message", .least = 0},
    {.name = "tokenizer.ggml.unknown_token_id", .types = "u32", .readers = "*",
     .absent = "what the kind of vocabulary has wired in", .means = "token of what is not in the vocabulary",
     .least = 0},
    {.name = "tokenizer.ggml.seperator_token_id", .types = "u32", .readers = "*", .absent = "none",
     .means = "token between two texts", .least = 0},
    {.name = "tokenizer.ggml.padding_token_id", .types = "u32", .readers = "*", .absent = "none",
     .means = "token that fills up", .least = 0},
    {.name = "tokenizer.ggml.cls_token_id", .types = "u32", .readers = "*", .absent = "none",
     .means = "token that stands for the whole text", .least = 0},
    {.name = "tokenizer.ggml.mask_token_id", .types = "u32", .readers = "*", .absent = "none",
     .means = "token in the place of what is to be guessed", .least = 0},
    {.name = "tokenizer.ggml.add_bos_token", .types = "bool", .readers = "*",
     .absent = "what the kind of vocabulary has wired in", .means = "the token that begins a text is added"},
    {.name = "tokenizer.ggml.add_eos_token", .types = "bool", .readers = "*",
     .absent = "what the kind of vocabulary has wired in", .means = "the token that ends a text is added"},
    {.name = "tokenizer.ggml.add_sep_token", .types = "bool", .readers = "*", .absent = "false",
     .means = "the token between two texts is added"},
    {.name = "tokenizer.ggml.add_space_prefix", .types = "bool", .readers = "*", .absent = "true for SentencePiece",
     .means = "a blank is put in front"},
    {.name = "tokenizer.ggml.remove_extra_whitespaces", .types = "bool", .readers = "*", .absent = "false",
     .means = "several blanks become one"},
    {.name = "tokenizer.ggml.precompiled_charsmap", .types = "u8[]|i8[]", .length = "any", .readers = "*",
     .absent = "text is not normalised", .means = "how characters are normalised (SentencePiece)"},
    {.name = "tokenizer.ggml.normalizer.lowercase", .types = "bool", .readers = "*", .absent = "true for BERT",
     .means = "letters are made small"},
    {.name = "tokenizer.ggml.normalizer.strip_accents", .types = "bool", .readers = "*", .absent = "true for BERT",
     .means = "accents are taken off"},
    {.name = "tokenizer.ggml.fim_pre_token_id", .types = "u32", .readers = "*", .absent = "found by its text",
     .means = "token in front of what precedes a gap", .least = 0},
    {.name = "tokenizer.ggml.fim_suf_token_id", .types = "u32", .readers = "*", .absent = "found by its text",
     .means = "token in front of what follows a gap", .least = 0},
    {.name = "tokenizer.ggml.fim_mid_token_id", .types = "u32", .readers = "*", .absent = "found by its text",
     .means = "token in front of what fills a gap", .least = 0},
    {.name = "tokenizer.ggml.fim_pad_token_id", .types = "u32", .readers = "*", .absent = "found by its text",
     .means = "token that fills up around a gap", .least = 0},
    {.name = "tokenizer.ggml.fim_rep_token_id", .types = "u32", .readers = "*", .absent = "found by its text",
     .means = "token in front of a repository's name", .least = 0},
    {.name = "tokenizer.ggml.fim_sep_token_id", .types = "u32", .readers = "*", .absent = "found by its text",
     .means = "token between files", .least = 0},
    {.name = "tokenizer.ggml.prefix_token_id", .types = "u32", .readers = "*", .absent = "found by its text",
     .means = "an old name of fim_pre_token_id", .least = 0},
    {.name = "tokenizer.ggml.suffix_token_id", .types = "u32", .readers = "*", .absent = "found by its text",
     .means = "an old name of fim_suf_token_id", .least = 0},
    {.name = "tokenizer.ggml.middle_token_id", .types = "u32", .readers = "*", .absent = "found by its text",
     .means = "an old name of fim_mid_token_id", .least = 0},
    {.name = "tokenizer.ggml.suppress_tokens", .types = "u32[]|i32[]", .length = "any", .readers = "*",
     .absent = "every token may be sampled", .means = "tokens that are never sampled", .least = 0},
    {.name = "tokenizer.huggingface.json", .types = "string", .absent = "no meaning",
     .means = "a whole tokenizer.json"},
    {.name = "tokenizer.rwkv.world", .types = "string", .absent = "no meaning", .means = "RWKV's vocabulary as text"},
    {.name = "tokenizer.chat_template", .types = "string", .readers = "*", .absent = "a plain form of chat",
     .means = "Jinja template of chats"},
    {.name = "tokenizer.chat_templates", .types = "string[]", .length = "any", .readers = "*",
     .absent = "there is one template", .means = "names of further templates, in tokenizer.chat_template.NAME"},
    {.name = "tokenizer.chat_template.#", .types = "string", .readers = "*", .absent = "there is one template",
     .means = "a further template, by its name"},
    {.name = "tokenizer.ggml.#_token_id", .types = "u32", .readers = "*", .absent = "none",
     .means = "token of some other role", .least = 0},
};
// clang-format on

}  // namespace

std::span<const KeyFacts> tokenizer_keys() {
  return rows_of_tokenizer;
}

}  // namespace modelutils::arch
