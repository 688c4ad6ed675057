#include "report/html/model_page.h"

#include <algorithm>

#include "base/log.h"
#include "report/card_json.h"
#include "report/diff_parts.h"
#include "report/fit_report.h"
#include "report/model_diff.h"
#include "report/prompt.h"
#include "report/transfer_report.h"
#include "report/values.h"

namespace modelutils {

namespace {

constexpr std::string_view template_key = "tokenizer.chat_template";
const std::vector<std::string> all_tokens = {"all"};

class ModelPage {
 public:
  ModelPage(HtmlPage& page, const ModelPageSource& source, const DumpRequest& request)
      : page_(page), source_(source), request_(request), remarks_(source.findings) {}

  Status write() {
    ListingRequest select = request_.select;
    select.config_keys = true;
    const Listing listing = source_.listing.list(select);
    std::optional<tokenizer::EncodeKeys> keys;
    MU_TRY(read_tokenizer(keys));
    MU_TRY(page_.add([&](TextOutput& out) { return write_page_facts(out, listing); }));
    MU_TRY(page_.add([&](TextOutput& out) { return write_listing_card(out, listing, {}); }));
    MU_TRY(page_.add([&](TextOutput& out) {
      ListingOptions options;
      options.excerpts = true;
      options.modules = listing.is_packed();
      return write_listing_json(out, listing, options);
    }));
    if (request_.statistics) MU_TRY(add_statistics(listing));
    if (request_.fit) MU_TRY(add_fit(listing));
    if (keys) MU_TRY(add_vocabulary(*keys));
    return page_.finish();
  }

 private:
  // Unless tokens were requested, an unreadable tokenizer is only a remark, and a missing one is ignored.
  Status read_tokenizer(std::optional<tokenizer::EncodeKeys>& keys) {
    if (!source_.tokenizer) return {};
    auto read = source_.tokenizer();
    if (read) {
      keys = std::move(*read);
      return {};
    }
    if (request_.tokens) return tl::make_unexpected(std::move(read.error()));
    const Error& error = read.error();
    if (error.code != "tok-missing" && error.code != "hf-tok-missing") {
      remarks_.note(Scope::model, error.code, error.message, error.where, error.offset);
    }
    return {};
  }

  Status write_page_facts(TextOutput& out, const Listing& listing) {
    json::Writer json(json::Writer::Style::compact, [&](std::string_view text) { out << text; });
    {
      const auto in_object = json.object();
      json.member("schema", "page/1");
      json.member("program", source_.program);
      json.member("version", MODELUTILS_VERSION);
      write_config(json, listing);
      write_templates(json, listing);
      write_remarks(json, remarks_);
    }
    json.end_line();
    json.flush();
    return {};
  }

  void write_config(json::Writer& json, const Listing& listing) {
    const auto in_config = json.array("config");
    for (const std::string& key : listing.config_keys) {
      const std::optional<ListedValue> value = source_.listing.find_value(key);
      const auto* text = value ? std::get_if<std::string_view>(&*value) : nullptr;
      if (text == nullptr) continue;
      const auto in_array = json.array();
      json.string(key);
      json.string(*text);
    }
  }

  void write_templates(json::Writer& json, const Listing& listing) {
    const auto in_templates = json.array("templates");
    for (const ListedKey& key : listing.keys) {
      if (!key.name.starts_with(template_key)) continue;
      std::string_view name = key.name.substr(template_key.size());
      if (name.starts_with('.')) name.remove_prefix(1);
      const Result<ChatSource> chat = source_.chat(name);
      // The key in the listing already contains the text.
      if (chat) write_template(json, key.name, {}, *chat);
    }
    if (listing.format == Listing::Format::safetensors) {
      const Result<ChatSource> chat = source_.chat("");
      if (chat) write_template(json, "chat_template", chat->text, *chat);
    }
  }

  static void write_template(json::Writer& json, std::string_view name, std::optional<std::string_view> text,
                             const ChatSource& chat) {
    const auto in_object = json.object();
    json.member("name", name);
    json.member("text", text);
    const Result<std::string> prompt = rendered_prompt(chat, {.messages = example_conversation()});
    prompt ? json.member("prompt", *prompt) : json.member("error", prompt.error().message);
  }

  Status add_statistics(const Listing& listing) {
    MU_ASSIGN(const std::vector<TensorStatistics> rows,
              statistics_of(source_.listing.model(), listing.tensors, request_.progress));
    return page_.add([&](TextOutput& out) -> Status {
      StatisticsOptions options;
      options.json = true;
      write_statistics(out, rows, options);
      return {};
    });
  }

  Status add_fit(const Listing& listing) {
    memory::FitRequest wanted = *request_.fit;
    if (wanted.contexts.empty()) wanted.contexts = page_contexts(listing.facts.context);
    MU_ASSIGN(const memory::FitReport report, source_.fit(wanted));
    return page_.add([&](TextOutput& out) -> Status {
      write_fit_json(out, std::string(source_.path), report);
      return {};
    });
  }

  // Adds the tokens. If there are many, the page itself has only the special ones, and a compressed block has all.
  Status add_vocabulary(const tokenizer::EncodeKeys& keys) {
    constexpr std::size_t most_plain = std::size_t{1} << 16;
    const auto add = [](const std::string& json) {
      return [&](TextOutput& out) -> Status {
        out << json;
        return {};
      };
    };
    MU_ASSIGN(const std::string json, tokens_json(keys, request_.tokens ? request_.tokens->list : all_tokens));
    if (json.size() <= most_plain) return page_.add(add(json));
    Result<std::string> special = tokens_json(keys, {"special"});
    if (!special) special = tokens_json(keys, {"0"});  // there are none
    MU_TRY(special);
    MU_TRY(page_.add(add(*special)));
    return page_.add_packed("vocabulary-block", add(json));
  }

  static Result<std::string> tokens_json(const tokenizer::EncodeKeys& keys, const std::vector<std::string>& list) {
    std::string json;
    TextOutput out(json);
    TokenRequest wanted;
    wanted.list = list;
    TokenForm form;
    form.json = true;
    MU_TRY(write_tokens(out, keys, wanted, form));
    MU_TRY(out.flush());
    return json;
  }

  HtmlPage& page_;
  const ModelPageSource& source_;
  const DumpRequest& request_;
  FindingLog remarks_;
};

}  // namespace

std::vector<u64> page_contexts(std::optional<u64> trained_context) {
  if (!trained_context || *trained_context == 0) return {};
  constexpr std::size_t most = 10;
  std::vector<u64> contexts = {*trained_context};
  u64 power = u64{1} << 62;
  while (power >= *trained_context && power > 1) power /= 2;
  for (; power >= 1024 && contexts.size() < most; power /= 2) contexts.push_back(power);
  std::ranges::reverse(contexts);
  return contexts;
}

Status write_model_page(HtmlPage& page, const ModelPageSource& source, const DumpRequest& request) {
  return ModelPage(page, source, request).write();
}

namespace {

std::string types_text(const ModelDiff& diff, const TensorPair& pair) {
  const std::string a = diff.a.tensors->type_text(*pair.a);
  return pair.is_retyped ? a + " → " + diff.b.tensors->type_text(*pair.b) : a;
}

std::string error_text(const Measurement& measured) {
  if (!measured.problem.empty()) return "?";
  return measured.equal_values() ? "=" : error_percent(measured.sums.rms());
}

// Writes one grid: a title and the grid members of a card.
void write_page_grid(json::Writer& json, std::string_view shows, std::span<const GridTensor> tensors) {
  const auto in_object = json.object();
  json.member("shows", shows);
  write_grid_members(json, tensors);
}

}  // namespace

Status write_diff_page(HtmlPage& page, const ModelDiff& diff, std::string_view program) {
  std::vector<GridTensor> types, errors;
  for (std::size_t i = 0; i < diff.tensors.same_shape.size(); ++i) {
    const TensorPair& pair = diff.tensors.same_shape[i];
    types.push_back({pair.a->name, types_text(diff, pair)});
    if (i < diff.measured.size()) errors.push_back({pair.a->name, error_text(diff.measured[i])});
  }
  MU_TRY(page.add([&](TextOutput& out) -> Status {
    json::Writer json(json::Writer::Style::compact, [&](std::string_view text) { out << text; });
    {
      const auto in_object = json.object();
      json.member("schema", "page/1");
      json.member("program", program);
      json.member("version", MODELUTILS_VERSION);
      const auto in_grids = json.array("grids");
      write_page_grid(json, "types", types);
      if (!errors.empty()) write_page_grid(json, "errors", errors);
    }
    json.end_line();
    json.flush();
    return {};
  }));
  MU_TRY(page.add([&](TextOutput& out) { return write_diff_json(out, diff); }));
  return page.finish();
}

}  // namespace modelutils
