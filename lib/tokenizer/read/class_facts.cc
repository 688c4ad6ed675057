#include "tokenizer/read/class_facts.h"

#include <algorithm>
#include <array>
#include <string>

#include "arch/family.h"
#include "tokenizer/tokenizer.h"

namespace modelutils::tokenizer {

namespace {

using Texts = std::array<std::string_view, 7>;

// bos, eos, unk, sep, pad, cls, mask
constexpr Texts of_bert = {"", "", "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"};
constexpr Texts of_roberta = {"<s>", "</s>", "<unk>", "</s>", "<pad>", "<s>", "<mask>"};
constexpr Texts of_t5 = {"", "</s>", "<unk>", "", "<pad>", "", ""};

// Source: the classes of transformers 4.
constexpr std::array tokenizer_classes = {
    ClassFacts{.names = "BertTokenizer|DistilBertTokenizer|ElectraTokenizer|MobileBertTokenizer|ConvBertTokenizer",
               .texts = of_bert,
               .with_json = true,
               .adds_bos = true,
               .adds_eos = true},
    ClassFacts{.names = "XLMRobertaTokenizer",
               .texts = of_roberta,
               .adds_bos = true,
               .adds_eos = true,
               .adds_sep = true,
               .leading = "<s> <pad> </s> <unk>",
               .first_piece = 3},
    ClassFacts{.names = "CamembertTokenizer",
               .texts = of_roberta,
               .adds_bos = true,
               .adds_eos = true,
               .adds_sep = true,
               .leading = "<s>NOTUSED <pad> </s>NOTUSED <unk> <unk>NOTUSED",
               .first_piece = 1},
    ClassFacts{.names = "RobertaTokenizer",
               .texts = of_roberta,
               .adds_bos = true,
               .adds_eos = true,
               .adds_sep = true,
               .pre = "roberta-bpe"},
    ClassFacts{
        .names = "T5Tokenizer|MT5Tokenizer", .texts = of_t5, .adds_bos = false, .adds_eos = true, .extra_ids = 100},
    // As llama.cpp's converter: it writes no key for the space, and these tokens of GLM-4.
    ClassFacts{.names = "BaichuanTokenizer", .prefixes_space = true},
    ClassFacts{.names = "ChatGLM4Tokenizer",
               .texts = {"", "<|endoftext|>", "<|endoftext|>", "", "<|endoftext|>", "", ""},
               .eot = "<|user|>",
               .with_json = true},
};

const ClassFacts* find_row(std::string_view name) {
  const auto* found = std::find_if(tokenizer_classes.begin(), tokenizer_classes.end(),
                                   [&](const ClassFacts& row) { return arch::has_name(row.names, name); });
  return found == tokenizer_classes.end() ? nullptr : found;
}

}  // namespace

const ClassFacts* find_class_facts(const TokenizerInput& input, const SentencePieceModel* model) {
  std::string_view name = input.files.tokenizer_class();
  if (!name.empty() && !leaves_it_to_post_processor(name)) {
    if (name.ends_with("Fast")) name.remove_suffix(4);
    const ClassFacts* row = find_row(name);
    return row != nullptr && input.files.tokenizer_json && !row->with_json ? nullptr : row;
  }
  if (input.files.form == TokenizerForm::wordpiece) return find_row("BertTokenizer");
  if (model == nullptr) return nullptr;
  if (input.files.model_name == shifted_model_name) return find_row("XLMRobertaTokenizer");
  return model->is_unigram() && model->bos_id < 0 && model->eos_id >= 0 ? find_row("T5Tokenizer") : nullptr;
}

SpecialTexts special_texts_of(const TokenizerInput& input, const ClassFacts* facts) {
  SpecialTexts texts = read_special_texts(input.files);
  if (facts == nullptr) return texts;
  std::size_t i = 0;
  for (const SpecialVariable& variable : special_variables()) {
    auto& text = texts.*variable.text;
    const std::string_view usual = facts->texts.at(i++);
    if (!text && !usual.empty()) text = std::string(usual);
  }
  return texts;
}

}  // namespace modelutils::tokenizer
