// Tokenising, detokenising and rendering prompts.
#include <fmt/core.h>
#include <algorithm>

#include "c_api/handle.h"
#include "c_api/model_texts.h"
#include "listing/directory_tokenizer.h"
#include "report/prompt.h"

using namespace modelutils;
using namespace modelutils::c_api;

namespace {

// Returns the tokenizer, which the first thread to ask creates.
Result<const tokenizer::Encoder*> encoder_of(const mu_model* model) {
  if (model == nullptr) return null_argument("model");
  const std::scoped_lock lock(model->mutex);
  if (!model->encoder) {
    MU_ASSIGN(tokenizer::EncodeKeys keys, tokenizer_keys(model->opened));
    MU_ASSIGN(tokenizer::Encoder made, tokenizer::Encoder::make(std::move(keys)));
    model->encoder = std::make_unique<tokenizer::Encoder>(std::move(made));
  }
  return model->encoder.get();
}

}  // namespace

Result<tokenizer::EncodeKeys> c_api::tokenizer_keys(const Model& model) {
  return model.gguf ? tokenizer::read_encode_keys(*model.gguf) : directory_tokenizer(*model.safetensors);
}

Result<ChatSource> c_api::chat_of(const Model& model, std::string_view name) {
  return model.gguf ? chat_source(*model.gguf, name) : chat_source(*model.safetensors, name);
}

mu_status mu_tokenize(const mu_model* model, const char* text, uint64_t size, uint32_t flags, uint32_t* ids,
                      uint64_t capacity, uint64_t* count) {
  return guarded([&]() -> Status {
    if (model == nullptr) return null_argument("model");
    if (text == nullptr && size != 0) return null_argument("text");
    if (count == nullptr) return null_argument("count");
    if ((flags & ~u32{MU_TOKENS_ADD_SPECIAL | MU_TOKENS_PARSE_SPECIAL}) != 0) return bad_argument("unknown flags");
    const auto bytes = checked_cast<std::size_t>(size);
    if (!bytes) return bad_argument("size is larger than the address space");
    MU_ASSIGN(const tokenizer::Encoder* const encoder, encoder_of(model));
    tokenizer::EncodeOptions options;
    options.add_special = (flags & MU_TOKENS_ADD_SPECIAL) != 0;
    options.parse_special = (flags & MU_TOKENS_PARSE_SPECIAL) != 0;
    MU_ASSIGN(const std::vector<u32> tokens,
              encoder->encode(text == nullptr ? std::string_view() : std::string_view(text, *bytes), options));
    *count = tokens.size();
    if (tokens.size() > capacity) {
      return input_error("api-buffer",
                         fmt::format("the buffer has room for {} ids, but there are {}", capacity, tokens.size()));
    }
    if (tokens.empty()) return {};
    if (ids == nullptr) return null_argument("ids");
    std::ranges::copy(tokens, ids);
    return {};
  });
}

mu_status mu_detokenize(const mu_model* model, const uint32_t* ids, uint64_t count, mu_text** text) {
  return guarded([&]() -> Status {
    if (text == nullptr) return null_argument("text");
    *text = nullptr;
    if (model == nullptr) return null_argument("model");
    if (ids == nullptr && count != 0) return null_argument("ids");
    const auto room = checked_cast<std::size_t>(count);
    if (!room) return bad_argument("count is larger than the address space");
    MU_ASSIGN(const tokenizer::Encoder* const encoder, encoder_of(model));
    const std::span<const u32> tokens(ids, *room);
    for (const u32 id : tokens) {
      if (id >= encoder->size()) {
        return input_error("api-range", fmt::format("there is no token {}: the vocabulary has {}", id, encoder->size()),
                           {}, {}, model->opened.path());
      }
    }
    auto result = std::make_unique<mu_text>(mu_text{encoder->decode(tokens)});
    *text = result.release();
    return {};
  });
}

mu_status mu_render(const mu_model* model, const char* conversation, uint64_t size, const char* name,
                    mu_text** prompt) {
  return guarded([&]() -> Status {
    if (prompt == nullptr) return null_argument("prompt");
    *prompt = nullptr;
    if (model == nullptr) return null_argument("model");
    if (conversation == nullptr) return null_argument("conversation");
    if (size > max_conversation_bytes) return too_long_conversation("conversation");
    PromptRequest request;
    request.messages = {"conversation", std::string(conversation, static_cast<std::size_t>(size))};
    auto chat = chat_of(model->opened, name == nullptr ? "" : name);
    if (!chat) return tl::make_unexpected(in_file(std::move(chat.error()), model->opened.path()));
    MU_ASSIGN(std::string text, rendered_prompt(*chat, request));
    auto result = std::make_unique<mu_text>(mu_text{std::move(text)});
    *prompt = result.release();
    return {};
  });
}
