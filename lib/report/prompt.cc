#include "report/prompt.h"

#include <fmt/core.h>

#include <deque>

#include "json/reader.h"
#include "report/report_time.h"
#include "template/render.h"

namespace modelutils {

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
  return input_error("template-messages", "is larger than 64 MiB", {}, {}, name);
}

}  // namespace modelutils
