#include "report/prompt.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <deque>

#include "base/escape.h"
#include "base/not_found.h"
#include "base/os/process.h"
#include "base/text.h"
#include "json/reader.h"
#include "json/writer.h"
#include "report/table.h"
#include "template/render.h"
#include "tokenizer/tokenizer.h"

namespace modelutils {

i64 report_time() {
  if (const auto stated = os::environment("SOURCE_DATE_EPOCH")) return std::atoll(stated->c_str());
  return static_cast<i64>(std::time(nullptr));
}

namespace {

constexpr std::string_view example =
    R"([{"role": "user", "content": "Hello!"}, {"role": "assistant", "content": "Hi, how can I help?"}, )"
    R"({"role": "user", "content": "What is the capital of France?"}])";

class Prompt {
 public:
  Prompt(const ChatSource& chat, const PromptRequest& wanted) : chat_(chat), wanted_(wanted) {}

  Result<std::string> render() {
    MU_TRY(add_variables());
    for (const auto& [variable, text] : chat_.special_tokens) add(variable, text);
    const auto parsed = jinja::parse(chat_.text);
    if (!parsed) return of_template(parsed.error());
    request_.now = report_time();
    auto text = jinja::render(*parsed, request_);
    if (!text) return of_template(text.error());
    return text;
  }

 private:
  // Converts an error's offset to the file's. If the template is not stored verbatim, only lines and columns remain.
  tl::unexpected<Error> of_template(Error error) const {
    if (error.offset) error.offset = chat_.offset ? std::optional<u64>(*chat_.offset + *error.offset) : std::nullopt;
    if (!chat_.where.empty()) error.where = error.where.empty() ? chat_.where : chat_.where + ": " + error.where;
    return tl::make_unexpected(in_file(std::move(error), chat_.path));
  }

  void add(std::string name, jinja::Input value) { request_.variables.emplace_back(std::move(name), std::move(value)); }

  Result<json::Element> parse(const std::string& text, const std::string& name) {
    if (text.size() > max_conversation_bytes) return too_long_conversation(name);
    if (!jinja::has_exact_integers(text)) {
      return input_error("template-messages", "has an integer of more than 64 bits", {}, {}, name);
    }
    MU_ASSIGN(documents_.emplace_back(), json::parse(text, name));
    return documents_.back()->root;
  }

  // The first definition of a name counts, so the command line takes precedence over the file.
  Status add_variables() {
    for (const auto& [name, text] : wanted_.variables) {
      const auto value = parse(text, "--set");
      if (value) {
        add(name, *value);
      } else {
        add(name, text);
      }
    }
    if (wanted_.no_generation_prompt) add("add_generation_prompt", false);
    if (wanted_.tools) {
      MU_ASSIGN(const json::Element tools, parse(wanted_.tools->text, wanted_.tools->name));
      add("tools", tools);
    }
    const std::string& name = wanted_.messages.name;
    MU_ASSIGN(const json::Element root, parse(wanted_.messages.text, name));
    json::Array list;
    json::Object object;
    if (root.get(list)) {
      add("messages", root);
    } else if (root.get(object)) {
      for (const json::Member member : object) add(std::string(member.key), member.value);
    } else {
      return input_error("template-messages", "is neither a list of messages nor an object with one", {}, {}, name);
    }
    add("tools", nullptr);
    add("documents", nullptr);
    add("add_generation_prompt", true);
    return {};
  }

  const ChatSource& chat_;
  const PromptRequest& wanted_;
  jinja::RenderRequest request_;
  std::deque<std::unique_ptr<json::Document>> documents_;
};

}  // namespace

NamedJson example_conversation() {
  return {"the example", std::string(example)};
}

Result<std::string> rendered_prompt(const ChatSource& chat, const PromptRequest& wanted) {
  return Prompt(chat, wanted).render();
}

tl::unexpected<Error> too_long_conversation(const std::string& name) {
  return input_error("template-messages", "is larger than " + byte_text(max_conversation_bytes), {}, {}, name);
}

namespace {

using tokenizer::EncodeKeys;
using tokenizer::TokenType;

std::string_view token_type_name(i32 type) {
  switch (static_cast<TokenType>(type)) {
    case TokenType::normal: return "normal";
    case TokenType::unknown: return "unknown";
    case TokenType::control: return "control";
    case TokenType::user_defined: return "user-defined";
    case TokenType::unused: return "unused";
    case TokenType::byte: return "byte";
    default: return "undefined";
  }
}

// A vocabulary and the selection of its tokens.
class TokenList {
 public:
  TokenList(const EncodeKeys& keys, const TokenForm& form) : keys_(keys), form_(form), roles_(keys.tokens.size()) {
    for (const tokenizer::TokenRole& role : tokenizer::token_roles()) {
      if (const std::optional<u32> id = keys.special.*role.id) roles_[*id].push_back(role.name);
    }
  }

  Status select(const std::vector<std::string>& wanted) {
    std::vector<bool> is_wanted(keys_.tokens.size());
    for (const std::string& what : wanted) MU_TRY(select(what, is_wanted));
    for (u32 id = 0; id < is_wanted.size(); ++id) {
      if (is_wanted[id]) ids_.push_back(id);
    }
    return {};
  }

  void write_csv(TextOutput& out) const {
    if (form_.first) out << (form_.path.empty() ? "" : "file,") << "id,text,type,score,roles\n";
    for (const u32 id : ids_) {
      if (!form_.path.empty()) out << csv_field(form_.path) << ",";
      out << fmt::format("{},{},{},{},{}\n", id, csv_field(keys_.tokens[id]), type(id), score(id), roles(id, " "));
    }
  }

  void write_json(TextOutput& out) const {
    json::Writer json(json::Writer::Style::compact, [&](std::string_view text) { out << text; });
    {
      const auto in_object = json.object();
      json.member("schema", "vocabulary/1");
      if (!form_.path.empty()) json.member("path", form_.path);
      json.member("model", keys_.model);
      json.member("size", u64{keys_.tokens.size()});
      const auto in_tokens = json.array("tokens");
      for (const u32 id : ids_) {
        const auto in_item = json.object();
        json.member("id", id);
        json.member("text", keys_.tokens[id]);
        json.member("type", type(id));
        if (id < keys_.scores.size()) json.member("score", keys_.scores[id]);
        if (!roles_[id].empty()) {
          json.values("roles", roles_[id]);
        }
      }
    }
    json.end_line();
    json.flush();
  }

  void write_text(TextOutput& out) const {
    if (!form_.first) out << "\n";
    if (!form_.path.empty()) out << form_.style(Paint::title, escape(form_.path)) << "\n";
    const auto fill = [&](std::size_t row, std::vector<Cell>& cells) {
      const u32 id = ids_[row];
      cells[0] = {std::to_string(id), Paint::label};
      cells[1] = {escape(keys_.tokens[id]), Paint::plain};
      cells[2] = {std::string(type(id)), Paint::faint};
      cells[3] = {score(id), Paint::faint};
      cells[4] = {roles(id, ", "), Paint::plain};
    };
    std::vector<Column> columns = {{"id", Align::right},
                                   {"text", Align::left, 12},
                                   {"type", Align::left, 0, 1},
                                   {keys_.scores.empty() ? "" : "score", Align::right, 0, 2},
                                   {"roles", Align::left}};
    write_table(out, columns, ids_.size(), fill, {form_.width, 2, true, form_.style});
  }

 private:
  Status select(const std::string& what, std::vector<bool>& is_wanted) const {
    constexpr std::string_view by_text = "text:";
    u32 number = 0;
    const auto [end, error] = std::from_chars(what.data(), what.data() + what.size(), number);
    if (!what.empty() && end == what.data() + what.size()) {
      if (error != std::errc() || number >= is_wanted.size()) {
        return input_error("key-no-token", fmt::format("there is no token {}: the vocabulary has {}", what,
                                                       counted(is_wanted.size(), "token")));
      }
      is_wanted[number] = true;
      return {};
    }
    bool any = false;
    for (u32 id = 0; id < is_wanted.size(); ++id) {
      const std::string& text = keys_.tokens[id];
      const bool is = what == "all"               ? true
                      : what == "special"         ? is_special(id)
                      : what.starts_with(by_text) ? text == std::string_view(what).substr(by_text.size())
                                                  : glob_match(what, text);
      if (!is) continue;
      is_wanted[id] = any = true;
    }
    if (any || what == "all") return {};
    if (what.starts_with(by_text)) {
      return input_error("key-no-token", fmt::format("no token has the text '{}'", what.substr(by_text.size())));
    }
    return no_match_error("--tokens", fmt::format("'{}' selects no token", what), {});
  }

  bool is_special(u32 id) const {
    const std::string_view of = type(id);
    return of == "control" || of == "unknown" || of == "user-defined" || !roles_[id].empty();
  }

  std::string_view type(u32 id) const { return id < keys_.types.size() ? token_type_name(keys_.types[id]) : "normal"; }
  std::string score(u32 id) const { return id < keys_.scores.size() ? float_text(keys_.scores[id]) : std::string(); }
  std::string roles(u32 id, std::string_view separator) const {
    std::string text;
    for (const std::string_view role : roles_[id]) {
      if (!text.empty()) text += separator;
      text += role;
    }
    return text;
  }

  const EncodeKeys& keys_;
  const TokenForm& form_;
  std::vector<std::vector<std::string_view>> roles_;
  std::vector<u32> ids_;
};

void write_ids_json(TextOutput& out, const tokenizer::Encoder& encoder, const std::vector<u32>& ids,
                    const TokenForm& form, bool with_text) {
  json::Writer json(json::Writer::Style::compact, [&](std::string_view text) { out << text; });
  {
    const auto in_object = json.object();
    json.member("schema", "tokens/1");
    if (!form.path.empty()) json.member("path", form.path);
    json.values("ids", ids);
    {
      const auto in_pieces = json.array("pieces");
      for (const u32 id : ids) json.string(encoder.piece(id));
    }
    if (with_text) json.member("text", encoder.decode(ids));
  }
  json.end_line();
  json.flush();
}

void write_path(TextOutput& out, const TokenForm& form) {
  if (form.path.empty()) return;
  if (!form.first) out << "\n";
  out << form.style(Paint::title, escape(form.path)) << "\n";
}

Status write_list(TextOutput& out, const EncodeKeys& keys, const TokenRequest& request, const TokenForm& form) {
  TokenList list(keys, form);
  MU_TRY(list.select(request.list));
  if (form.json) {
    list.write_json(out);
  } else if (request.csv) {
    list.write_csv(out);
  } else {
    list.write_text(out);
  }
  return {};
}

}  // namespace

Status write_tokens(TextOutput& out, EncodeKeys keys, const TokenRequest& request, const TokenForm& form) {
  if (!request.list.empty()) return write_list(out, keys, request, form);
  MU_ASSIGN(const tokenizer::Encoder encoder, tokenizer::Encoder::make(std::move(keys)));
  if (request.text) {
    MU_ASSIGN(const std::vector<u32> ids, encoder.encode(*request.text, request.encode));
    if (form.json) {
      write_ids_json(out, encoder, ids, form, false);
      return {};
    }
    write_path(out, form);
    for (const u32 id : ids) out << fmt::format("{}\t{}\n", id, escape(encoder.piece(id)));
    return {};
  }
  for (const u32 id : *request.ids) {
    if (id < encoder.size()) continue;
    return input_error("key-no-token", fmt::format("there is no token {}: the vocabulary has {}", id,
                                                   counted(encoder.size(), "token")));
  }
  if (form.json) {
    write_ids_json(out, encoder, *request.ids, form, true);
    return {};
  }
  write_path(out, form);
  const std::string text = encoder.decode(*request.ids);
  out << (form.for_terminal ? escape(text) : text) << "\n";
  return {};
}

}  // namespace modelutils
