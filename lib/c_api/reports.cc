#include <fmt/core.h>

#include <algorithm>
#include <cstddef>

#include "c_api/handle.h"
#include "convert/to_gguf/plan.h"
#include "io/standard_output.h"
#include "model/listing/listing.h"
#include "model/listing/safetensors_listing.h"
#include "report/card_json.h"
#include "report/fit_report.h"
#include "report/html/model_page.h"
#include "report/model_diff.h"
#include "report/prompt.h"
#include "report/verify_text.h"
#include "rules/gguf/rules.h"
#include "rules/safetensors/rules.h"
#include "verify/verify.h"

using namespace modelutils;
using namespace modelutils::c_api;

// The summary of a model and its layers as JSON ("card/1", docs/json.md).

mu_status mu_card(const mu_model* model, mu_text** json) {
  return guarded([&]() -> Status {
    if (json == nullptr) return null_argument("json");
    *json = nullptr;
    if (model == nullptr) return null_argument("model");
    const Model& opened = model->opened;
    const std::unique_ptr<ListingSource> source = listing_of(opened);
    ListingRequest request;
    request.token_texts = request.towers = true;
    source->read_towers = [&] { return to_gguf::towers_of(opened); };
    const Listing listing = source->list(request);
    std::vector<GridTensor> tensors;
    for (const Tensor& tensor : opened.catalog().tensors) {
      if (!opened.is_part(tensor)) tensors.push_back({tensor.name, opened.type_text(tensor)});
    }
    json::Writer writer;
    write_card_json(writer, {opened.path(), format_info(opened.format).name, listing.facts, listing.kind, tensors});
    *json = std::make_unique<mu_text>(mu_text{writer.text()}).release();
    return {};
  });
}

// The memory estimate as JSON.

namespace {

Status set_cache_type(int32_t wanted, TensorType& type) {
  if (wanted == MU_TYPE_UNKNOWN) return {};
  if (mu_type_name(wanted) == nullptr || !memory::is_cache_type(static_cast<TensorType>(wanted))) {
    return bad_argument("no cache has elements of that type");
  }
  type = static_cast<TensorType>(wanted);
  return {};
}

std::optional<u64> if_stated(u64 number) {
  return number == 0 ? std::nullopt : std::optional<u64>(number);
}

}  // namespace

Result<memory::FitRequest> c_api::fit_request_of(const mu_fit_request* given) {
  memory::FitRequest request;
  if (given == nullptr) return request;
  if (given->struct_size < offsetof(mu_fit_request, v_type) + sizeof(given->v_type)) {
    return bad_argument("struct_size is too small: set it to the size of the structure");
  }
  MU_TRY(check_flags(given->flags, MU_FIT_UNIFIED_CACHE | MU_FIT_NO_FLASH_ATTENTION | MU_FIT_FULL_WINDOWS));
  constexpr u64 most_contexts = 4096;
  if (given->context_count > most_contexts) return bad_argument("context_count is larger than 4096");
  if (given->context_count != 0 && given->contexts == nullptr) return null_argument("contexts");
  for (u64 i = 0; i < given->context_count; ++i) {
    if (given->contexts[i] == 0) return bad_argument("a context is 0");
    request.contexts.push_back(given->contexts[i]);
  }
  if (given->memory != 0 && (given->gpu != 0 || given->ram != 0)) {
    return bad_argument("memory is shared by CPU and GPU and cannot be combined with gpu or ram");
  }
  request.available.gpu = if_stated(given->gpu);
  request.available.ram = if_stated(given->ram);
  request.available.unified = if_stated(given->memory);
  if (given->margin != MU_NONE) request.available.margin = given->margin;
  memory::RunOptions& run = request.run;
  run.sequences = if_stated(given->sequences).value_or(run.sequences);
  run.batch = if_stated(given->batch).value_or(run.batch);
  run.ubatch = if_stated(given->ubatch).value_or(run.ubatch);
  run.unified = (given->flags & MU_FIT_UNIFIED_CACHE) != 0;
  run.flash_attention = (given->flags & MU_FIT_NO_FLASH_ATTENTION) == 0;
  run.full_windows = (given->flags & MU_FIT_FULL_WINDOWS) != 0;
  MU_TRY(set_cache_type(given->k_type, run.k_type));
  MU_TRY(set_cache_type(given->v_type, run.v_type));
  if (!run.flash_attention && type_info(run.v_type).block_elements > 1) {
    return bad_argument("without flash attention, llama.cpp does not accept a quantised V cache");
  }
  return request;
}

Result<memory::FitReport> c_api::fit_of(const Model& model, const memory::FitRequest& request) {
  if (model.gguf) return memory::fit(*model.gguf, request);
  MU_ASSIGN(const to_gguf::GgufPlan plan, to_gguf::plan_without_vocabulary(model.path()));
  return memory::fit(*plan.target.gguf, request);
}

mu_status mu_fit(const mu_model* model, const mu_fit_request* request, mu_text** json) {
  return give_report(json, [&](std::string& text) -> Status {
    if (model == nullptr) return null_argument("model");
    MU_ASSIGN(const memory::FitRequest wanted, fit_request_of(request));
    auto report = fit_of(model->opened, wanted);
    if (!report) return tl::make_unexpected(in_file(std::move(report.error()), model->opened.path()));
    TextOutput out(text);
    write_fit_json(out, model->opened.path(), *report);
    return out.flush();
  });
}

// The HTML page about a model (lib/report/html).

mu_status mu_page(const mu_model* model, uint32_t flags, const mu_fit_request* request, mu_text** html) {
  const auto write = [&](std::string& text) -> Status {
    if (model == nullptr) return null_argument("model");
    MU_TRY(check_flags(flags, MU_PAGE_VOCABULARY | MU_PAGE_STATISTICS | MU_PAGE_MEMORY));
    const Model& opened = model->opened;
    DumpRequest shown;
    shown.select.token_texts = true;  // the card names the tokens at which generation ends
    shown.select.towers = true;
    shown.statistics = (flags & MU_PAGE_STATISTICS) != 0;
    if ((flags & MU_PAGE_MEMORY) != 0) {
      MU_ASSIGN(shown.fit, fit_request_of(request));
    }
    const std::unique_ptr<ListingSource> listing = listing_of(opened);
    listing->read_towers = [&] { return to_gguf::towers_of(opened); };
    const Findings findings =
        opened.gguf ? gguf_container_findings(*opened.gguf) : safetensors_container_findings(opened.safetensors->set);
    ModelPageSource source{"libmodelutils", opened.path(), *listing, findings, {}, {}, {}};
    source.fit = [&](const memory::FitRequest& wanted) { return fit_of(opened, wanted); };
    if ((flags & MU_PAGE_VOCABULARY) != 0) source.tokenizer = [&] { return tokenizer_keys(opened); };
    source.chat = [&](std::string_view name) { return chat_of(opened, name); };
    HtmlPage page([&](std::string_view piece) -> Status {
      text += piece;
      return {};
    });
    Status done = write_model_page(page, source, shown);
    return done ? Status() : tl::make_unexpected(in_file(std::move(done.error()), opened.path()));
  };
  return give_report(html, write, "html");
}

// The results of verify and model-diff as JSON.

namespace {

Result<Model> open_compared(const char* path) {
  MU_ASSIGN(const std::string found, named_path(path));
  Result<PathProbe> probe = probe_path(found, OutsideLinks::warn);
  if (!probe) return about_named(std::move(probe.error()), path);
  if (!probe->format) return about_named(unknown_format(*probe), path);
  Result<Model> opened = open_model(std::move(*probe));
  return opened ? std::move(opened) : about_named(std::move(opened.error()), path);
}

}  // namespace

mu_status mu_verify(const char* path, uint32_t flags, mu_text** json) {
  return give_report(json, [&](std::string& text) -> Status {
    if (path == nullptr) return null_argument("path");
    MU_TRY(check_flags(flags, MU_VERIFY_DATA | MU_VERIFY_IGNORE_INDEX | MU_VERIFY_AUTHENTIC));
    VerifyOptions options;
    options.data = (flags & MU_VERIFY_DATA) != 0;
    options.ignore_index = (flags & MU_VERIFY_IGNORE_INDEX) != 0;
    options.authentic = (flags & MU_VERIFY_AUTHENTIC) != 0;
    MU_ASSIGN(const std::string found, named_path(path, Manifests::read));
    std::optional<Error> unreadable;
    MU_TRY(verify_paths({found}, options, [&](const VerifyReport& report) {
      if (report.unreadable && !report.is_below) {
        unreadable = report.unreadable;
        if (unreadable->file.empty()) unreadable->file = report.path;
      }
      text += verify_json(report, false);
      if (text.empty() || text.back() != '\n') text += '\n';
    }));
    if (unreadable) return about_named(std::move(*unreadable), path);
    return {};
  });
}

mu_status mu_diff(const char* a, const char* b, uint32_t flags, mu_text** json) {
  return give_report(json, [&](std::string& text) -> Status {
    if (a == nullptr) return null_argument("a");
    if (b == nullptr) return null_argument("b");
    MU_TRY(check_flags(flags, MU_DIFF_DATA | MU_DIFF_LAYOUT));
    CompareOptions options;
    options.data = (flags & MU_DIFF_DATA) != 0;
    options.layout = (flags & MU_DIFF_LAYOUT) != 0;
    Result<Model> left = open_compared(a);
    if (!left) return tl::make_unexpected(in_file(std::move(left.error()), a));
    Result<Model> right = open_compared(b);
    if (!right) return tl::make_unexpected(in_file(std::move(right.error()), b));
    MU_ASSIGN(const std::unique_ptr<ModelDiff> diff, compare_models(std::move(*left), std::move(*right), options));
    if (const Error* error = diff->read_error()) return tl::make_unexpected(*error);
    TextOutput out(text);
    MU_TRY(write_diff_json(out, *diff));
    return out.flush();
  });
}

// Tokenising, detokenising and rendering prompts.

namespace {

// Returns the tokenizer. The first thread that needs it creates it.
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
