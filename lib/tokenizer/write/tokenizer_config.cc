// tokenizer_config.json and the other small files next to tokenizer.json.
#include "json/writer.h"
#include "tokenizer/write/files_from_keys.h"

namespace modelutils::tokenizer {

namespace {

constexpr std::string_view template_file = "chat_template.jinja";

// Writes "bos_token": "<s>" and similar members.
void write_special_texts(const RebuiltTokenizer& t, json::Writer& out) {
  const auto text = [&](std::string_view name, const std::optional<u32>& id) {
    if (id) out.member(name, t.tokens[*id]);
  };
  text("bos_token", t.special.bos);
  text("eos_token", t.special.eos);
  text("unk_token", t.special.unk);
  text("sep_token", t.special.sep);
  text("pad_token", t.special.pad);
  text("cls_token", t.special.cls);
  text("mask_token", t.special.mask);
}

void write_templates(const ChatTemplates& templates, json::Writer& out) {
  if (templates.named.empty()) {
    out.member("chat_template", templates.main);
    return;
  }
  const auto write = [&](std::string_view name, std::string_view text) {
    const auto in_object = out.object();
    out.member("name", name);
    out.member("template", text);
  };
  const auto in_chat_template = out.array("chat_template");
  if (templates.main) write("default", *templates.main);
  for (const NamedTemplate& one : templates.named) write(one.name, one.text);
}

std::string tokenizer_config_text(const RebuiltTokenizer& t) {
  json::Writer out(json::Writer::Style::pretty);
  {
    const auto in_object = out.object();
    out.member("tokenizer_class", "PreTrainedTokenizerFast");
    write_special_texts(t, out);
    out.member("add_bos_token", t.add_bos);
    out.member("add_eos_token", t.add_eos);
    if (t.kind == RebuiltKind::sentencepiece || t.kind == RebuiltKind::unigram) {
      out.member("add_prefix_space", t.add_space_prefix);
    }
    out.member("clean_up_tokenization_spaces", t.clean_up_spaces);
    if (t.context_length > 0) out.member("model_max_length", t.context_length);
    write_templates(t.templates, out);
  }
  return out.text() + "\n";
}

}  // namespace

std::vector<std::string_view> RebuiltTokenizer::file_names() const {
  std::vector<std::string_view> names = {"tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"};
  // Readers that find this file ignore all other templates.
  if (templates.main && templates.named.empty()) names.push_back(template_file);
  return names;
}

void RebuiltTokenizer::write_file(std::string_view name, const std::function<void(std::string_view)>& sink) const {
  if (name == "tokenizer.json") return write_tokenizer_json(*this, sink);
  if (name == "tokenizer_config.json") return sink(tokenizer_config_text(*this));
  if (name == template_file) return sink(templates.main.value_or(""));
  json::Writer out(json::Writer::Style::pretty);
  {
    const auto in_object = out.object();
    write_special_texts(*this, out);
  }
  sink(out.text() + "\n");
}

}  // namespace modelutils::tokenizer
