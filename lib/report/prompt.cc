#include "report/prompt.h"

#include <fmt/core.h>

#include <ctime>
#include <deque>

#include "gguf/keys.h"
#include "gguf/split_set.h"
#include "io/random_access_file.h"
#include "json/reader.h"
#include "template/render.h"
#include "tokenizer/encode_keys.h"

namespace modelutils {

namespace {

constexpr std::string_view example_conversation =
    R"([{"role": "user", "content": "Hello!"}, {"role": "assistant", "content": "Hi, how can I help?"}, )"
    R"({"role": "user", "content": "What is the capital of France?"}])";

struct NamedToken {
  const char* name;
  std::optional<u32> tokenizer::SpecialIds::*id;
};
constexpr NamedToken named_tokens[] = {
    {"bos_token", &tokenizer::SpecialIds::bos}, {"eos_token", &tokenizer::SpecialIds::eos},
    {"unk_token", &tokenizer::SpecialIds::unk}, {"sep_token", &tokenizer::SpecialIds::sep},
    {"pad_token", &tokenizer::SpecialIds::pad},
};

Result<std::string> text_of(const std::string& path) {
  constexpr std::size_t most = std::size_t{64} << 20;
  MU_ASSIGN(const auto source, open_source(path));
  std::string text;
  std::vector<std::byte> buffer(std::size_t{1} << 16);
  while (text.size() <= most) {
    MU_ASSIGN(const std::size_t count, source->read_some(text.size(), buffer));
    if (count == 0) return text;
    text.append(reinterpret_cast<const char*>(buffer.data()), count);
  }
  return input_error("template-messages", "is larger than 64 MiB", {}, {}, path);
}

class Prompt {
 public:
  explicit Prompt(const PromptRequest& wanted) : wanted_(wanted) {}

  Result<std::string> render(const std::string& path) {
    MU_ASSIGN(const gguf::SplitSet set, gguf::open_set(path));
    const gguf::Index index(set.files.front().document);
    const std::string key = "tokenizer.chat_template" + (wanted_.name ? "." + *wanted_.name : std::string());
    const auto source = index.string_value(key);
    if (!source) {
      Error missing =
          input_error("template-missing", "the model has no such chat template", at_key(key), {}, path).value();
      missing.kind = ErrorKind::no_match;
      return tl::make_unexpected(std::move(missing));
    }
    MU_TRY(add_variables());
    const auto keys = tokenizer::read_encode_keys(set);  // without a tokenizer there are no special tokens
    for (const NamedToken& token : named_tokens) {
      if (!keys) break;
      const std::optional<u32> id = keys->special.*token.id;
      if (id && *id < keys->tokens.size()) add(token.name, keys->tokens[*id]);
    }
    const auto parsed = jinja::parse(*source);
    if (!parsed) return tl::make_unexpected(in_file(parsed.error(), path));
    request_.now = static_cast<i64>(std::time(nullptr));
    auto text = jinja::render(*parsed, request_);
    if (!text) return tl::make_unexpected(in_file(text.error(), path));
    return text;
  }

 private:
  void add(std::string name, jinja::Input value) { request_.variables.emplace_back(std::move(name), std::move(value)); }

  Result<json::Element> parse(const std::string& text, const std::string& name) {
    if (!jinja::has_exact_integers(text)) {
      return input_error("template-messages", "has an integer of more than 64 bits", {}, {}, name);
    }
    MU_ASSIGN(documents_.emplace_back(), json::parse(text, name));
    return documents_.back()->root;
  }

  // The first of a name counts: what is said on the command line comes before what the file says.
  Status add_variables() {
    for (const std::string& variable : wanted_.variables) {
      const std::size_t equals = variable.find('=');
      if (equals == 0 || equals == variable.npos)
        return usage_error(fmt::format("--set needs NAME=VALUE, not '{}'", variable));
      const std::string text = variable.substr(equals + 1);
      const auto value = parse(text, "--set");
      if (value) {
        add(variable.substr(0, equals), *value);
      } else {
        add(variable.substr(0, equals), text);
      }
    }
    if (wanted_.no_generation_prompt) add("add_generation_prompt", false);
    if (wanted_.tools) {
      MU_ASSIGN(const std::string text, text_of(*wanted_.tools));
      MU_ASSIGN(const json::Element tools, parse(text, *wanted_.tools));
      add("tools", tools);
    }
    const std::string name = wanted_.messages.value_or("the example");
    std::string text(example_conversation);
    if (wanted_.messages) {
      MU_ASSIGN(text, text_of(name));
    }
    MU_ASSIGN(const json::Element root, parse(text, name));
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

  const PromptRequest& wanted_;
  jinja::RenderRequest request_;
  std::deque<std::unique_ptr<json::Document>> documents_;
};

}  // namespace

Result<std::string> rendered_prompt(const std::string& path, const PromptRequest& wanted) {
  return Prompt(wanted).render(path);
}

}  // namespace modelutils
