#include "tokenizer/read/chat_template.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/utf8.h"
#include "hf/remarks.h"
#include "tokenizer/read/files.h"

namespace modelutils::tokenizer {

namespace {

constexpr u64 max_template_bytes = u64{16} << 20;
constexpr std::size_t max_templates = 1000;
constexpr std::size_t max_name = 256;

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

std::string key_name(std::string_view name) {
  std::string key(name.substr(0, max_name));
  std::replace_if(
      key.begin(), key.end(), [](char c) { return !is_letter_or_digit(c); }, '_');
  return key;
}

Result<std::optional<std::string>> read_text(const ModelFolder& folder, const std::string& name) {
  MU_ASSIGN(std::optional<std::string> text, read_if_present(folder, name, max_template_bytes));
  if (text && !is_utf8(*text)) return input_error("hf-tok-template", "is not UTF-8", {}, {}, folder.file(name));
  return text;
}

// Collects templates; the first source of each name wins.
class TemplateCollector {
 public:
  TemplateCollector(ChatTemplates& templates, FindingLog& findings) : templates_(templates), findings_(findings) {}

  void add(std::string_view name, std::string_view text, std::string_view source) {
    if (name == "default") {
      place(templates_.main, text, "chat template", source);
      return;
    }
    const std::string key = key_name(name);
    const auto same = std::find_if(templates_.named.begin(), templates_.named.end(),
                                   [&](const NamedTemplate& one) { return one.name == key; });
    if (same == templates_.named.end()) {
      if (key.empty() || templates_.named.size() == max_templates) return;
      templates_.named.push_back({key, std::string(text)});
    } else if (same->text != text) {
      differs(fmt::format("chat template '{}'", key), source);
    }
  }

  // Adds the value of a chat_template member: a string, or a list of {name, template}.
  Status add_value(json::Element value, std::string_view source) {
    std::string_view text;
    if (value.get(text)) {
      add("default", text, source);
      return {};
    }
    json::Array list;
    if (!value.get(list)) return wrong_type(source);
    for (const json::Element entry : list) {
      const auto name = json::string_member(entry, "name");
      const auto body = json::string_member(entry, "template");
      if (!name || !body) return wrong_type(source);
      add(*name, *body, source);
    }
    return {};
  }

 private:
  static tl::unexpected<Error> wrong_type(std::string_view source) {
    return input_error("hf-tok-template", "must be a string or a list of {name, template}",
                       fmt::format("{}: chat_template", source));
  }
  void differs(std::string what, std::string_view source) {
    findings_.warning(Scope::model, "hf-tok-template-differs",
                      fmt::format("another template is in {}; the order of precedence is chat_template.jinja, "
                                  "tokenizer_config.json, chat_template.json",
                                  source),
                      std::move(what));
  }
  void place(std::optional<std::string>& into, std::string_view text, std::string what, std::string_view source) {
    if (!into) {
      into = std::string(text);
    } else if (*into != text) {
      differs(std::move(what), source);
    }
  }

  ChatTemplates& templates_;
  FindingLog& findings_;
};

Status add_jinja_files(const ModelFolder& folder, TemplateCollector& collector) {
  constexpr std::string_view ending = ".jinja";
  const std::string more = "additional_chat_templates";
  MU_ASSIGN(const std::optional<std::string> main, read_text(folder, "chat_template.jinja"));
  if (main) collector.add("default", *main, "chat_template.jinja");
  MU_ASSIGN(std::vector<std::string> names, list_if_present(folder.file(more)));
  std::erase_if(names,
                [&](const std::string& name) { return name.size() <= ending.size() || !name.ends_with(ending); });
  if (names.size() > max_templates) names.resize(max_templates);
  for (const std::string& name : names) {
    MU_ASSIGN(const std::optional<std::string> text, read_text(folder, more + "/" + name));
    if (text) collector.add(name.substr(0, name.size() - ending.size()), *text, more);
  }
  return {};
}

}  // namespace

Result<ChatTemplates> read_chat_templates(const ModelFolder& folder, std::optional<json::Element> tokenizer_config,
                                          FindingLog& findings) {
  ChatTemplates templates;
  TemplateCollector collector(templates, findings);
  MU_TRY(add_jinja_files(folder, collector));
  if (tokenizer_config) {
    const auto value = json::member(*tokenizer_config, "chat_template");
    if (value) MU_TRY(collector.add_value(*value, "tokenizer_config.json"));
  }
  MU_ASSIGN(const auto document, json::load_if_present(folder, "chat_template.json", max_template_bytes));
  if (document) {
    const auto value = json::member(document->root, "chat_template");
    if (value) MU_TRY(collector.add_value(*value, "chat_template.json"));
  }
  return templates;
}

std::optional<std::string> folder_template(const ModelFolder& folder) {
  const auto config = json::load_if_present(folder, "tokenizer_config.json");
  FindingLog findings;
  const auto root = config && *config ? std::optional((*config)->root) : std::nullopt;
  const auto templates = read_chat_templates(folder, root, findings);
  return templates ? templates->main : std::nullopt;
}

}  // namespace modelutils::tokenizer
