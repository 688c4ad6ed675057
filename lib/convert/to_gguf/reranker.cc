#include "convert/to_gguf/reranker.h"

#include <algorithm>
#include <span>
#include <vector>

#include "arch/encoder_rows.h"
#include "arch/families.h"
#include "arch/names.h"
#include "formats/hf/model_card.h"
#include "formats/hf/names.h"
#include "io/model_folder.h"
#include "json/reader.h"

namespace modelutils::to_gguf {

namespace {

constexpr std::string_view score_name = "cls.output";
// From Qwen3-Reranker's model card, with llama-server's placeholders.
constexpr std::string_view rerank_template =
    "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct "
    "provided. Note that the answer can only be \"yes\" or \"no\".<|im_end|>\n<|im_start|>user\n<Instruct>: Given a "
    "web search query, retrieve relevant passages that answer the query\n<Query>: {query}\n<Document>: "
    "{document}<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n";

// Returns the sign by which the model is known as a reranker; empty if there is none.
Result<std::string_view> sign_of(const HfModel& model) {
  if (model.config.modules.is_stated) return std::string_view();
  MU_ASSIGN(const auto card, open_side_file(model.opened().folder, "README.md"));
  if (card != nullptr) {
    constexpr u64 most = u64{1} << 20;
    std::string text(static_cast<std::size_t>(std::min(card->size().value_or(0), most)), '\0');
    MU_TRY(card->read_exact(0, std::as_writable_bytes(std::span(text))));
    const std::string heading = "# " + std::string(hf::reranker_name);
    for (std::size_t at = text.find(heading); at != std::string::npos; at = text.find(heading, at + 1)) {
      if (at == 0 || text[at - 1] == '\n') return std::string_view("README.md has its heading");
    }
  }
  if (hf::directory_name(model.directory).find(hf::reranker_name) == std::string::npos) return std::string_view();
  return std::string_view("the folder has its name");
}

std::optional<u64> token_id(std::optional<json::Element> vocabulary, std::string_view text) {
  return vocabulary ? json::u64_member(*vocabulary, text) : std::nullopt;
}

Result<std::optional<u64>> id_of(const ModelFolder& folder, std::string_view text) {
  MU_ASSIGN(const auto whole, json::load_if_present(folder, "tokenizer.json"));
  const auto model = whole != nullptr ? json::member(whole->root, "model") : std::nullopt;
  if (const auto id = token_id(model ? json::member(*model, "vocab") : std::nullopt, text)) return id;
  MU_ASSIGN(const auto plain, json::load_if_present(folder, "vocab.json"));
  return token_id(plain != nullptr ? std::optional(plain->root) : std::nullopt, text);
}

}  // namespace

bool takes_answers(const arch::Family& family) {
  return std::ranges::any_of(family.last_tensors,
                             [](const arch::Tensor& row) { return row.name == score_name && row.source.empty(); });
}

Status find_answers(HfModel& model, std::optional<bool> wanted, FindingLog& remarks) {
  const bool may_be = takes_answers(*model.family);
  if (!wanted.value_or(may_be)) return {};
  if (!may_be) {
    return input_error("convert-rerank",
                       "is not a model whose answers yes and no llama.cpp ranks by; --rerank is for Qwen3-Reranker", {},
                       {}, model.directory);
  }
  MU_ASSIGN(const std::string_view sign, sign_of(model));
  if (!wanted && sign.empty()) return {};
  for (const std::string_view text : arch::answer_texts) {
    MU_ASSIGN(const std::optional<u64> id, id_of(model.opened().folder, text));
    if (!id) {
      return input_error("convert-rerank", "has no token '" + std::string(text) + "', whose row would be a score", {},
                         {}, model.directory);
    }
    model.answers.push_back(*id);
  }
  if (!wanted) {
    remarks.note(Scope::model, "convert-rerank",
                 "is converted as a reranker (" + std::string(hf::reranker_name) + ": " + std::string(sign) +
                     "): the rows of 'yes' and 'no' are its scores; --no-rerank converts it as a language model");
  }
  return {};
}

void add_rerank_template(tokenizer::Tokenizer& tokenizer) {
  auto& named = tokenizer.templates.named;
  const bool has_one = std::ranges::any_of(named, [](const auto& one) { return one.name == "rerank"; });
  if (!has_one) named.push_back({"rerank", std::string(rerank_template)});
}

}  // namespace modelutils::to_gguf
