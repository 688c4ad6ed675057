#include "hf/model_card_writer.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "base/escape.h"
#include "base/utf8.h"
#include "hf/model_card_from_keys.h"

namespace modelutils::hf {

namespace {

class CardWriter {
 public:
  explicit CardWriter(const ModelCard& card) : card_(card) {}

  std::string write(const ModelCardOptions& options) {
    text_ = "---\n";
    add_text("license", card_.license);
    add_text("license_name", card_.license_name);
    add_text("license_link", card_.license_link);
    add_list("base_model", card_.base_models);
    if (!options.library.empty()) text_ += fmt::format("library_name: {}\n", yaml_string(options.library));
    if (card_.pipeline_tag) text_ += fmt::format("pipeline_tag: {}\n", *card_.pipeline_tag);  // one of a fixed set
    add_list("tags", with(card_.tags, options.library));
    add_list("language", card_.languages);
    add_list("datasets", card_.datasets);
    text_ += "---\n\n";
    add_body(options);
    return std::move(text_);
  }

 private:
  void add_text(std::string_view name, const std::optional<std::string>& value) {
    if (value) text_ += fmt::format("{}: {}\n", name, yaml_string(*value));
  }

  void add_list(std::string_view name, const std::vector<std::string>& values) {
    if (values.empty()) return;
    text_ += fmt::format("{}:\n", name);
    for (const std::string& value : values) text_ += fmt::format("- {}\n", yaml_string(value));
  }

  static std::vector<std::string> with(std::vector<std::string> tags, std::string_view library) {
    if (!library.empty() && std::find(tags.begin(), tags.end(), library) == tags.end()) tags.emplace_back(library);
    return tags;
  }

  void add_body(const ModelCardOptions& options) {
    const std::string_view name = card_.name ? std::string_view(*card_.name) : options.source;
    text_ += fmt::format("# {}\n\n", markdown(name));
    if (card_.description) text_ += markdown(*card_.description) + "\n\n";
    text_ += fmt::format("Made from the GGUF file `{}` by {}.\n", code(options.source), options.made_by);
    if (card_.author) text_ += fmt::format("\nAuthor: {}\n", markdown(*card_.author));
    if (card_.license) text_ += fmt::format("\nLicence: {}\n", markdown(*card_.license));
  }

  // Returns `text` on one line, with the special characters of Markdown and HTML escaped.
  static std::string markdown(std::string_view text) {
    std::string plain;
    for (const char c : escape(text)) {
      if (std::string_view("\\`*_{}[]<>#|&").find(c) != std::string_view::npos) plain += '\\';
      plain += c;
    }
    return plain;
  }
  static std::string code(std::string_view text) {
    std::string plain = escape(text);
    std::replace(plain.begin(), plain.end(), '`', '\'');
    return plain;
  }

  const ModelCard& card_;
  std::string text_;
};

}  // namespace

Result<std::string> model_card_text(const gguf::SplitSet& set, const ModelCardOptions& options) {
  MU_ASSIGN(const ModelCard card, card_from_keys(set));
  return CardWriter(card).write(options);
}

std::string yaml_string(std::string_view text) {
  std::string quoted = "\"";
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = decode_utf8(text.substr(at));
    const std::string_view bytes = text.substr(at, point.size);
    at += point.size;
    if (bytes == "\"" || bytes == "\\") {
      quoted += '\\';
      quoted += bytes;
    } else if (needs_escape(bytes)) {
      quoted += point.value <= 0xFFFF ? fmt::format("\\u{:04x}", static_cast<u32>(point.value))
                                      : fmt::format("\\U{:08x}", static_cast<u32>(point.value));
    } else {
      quoted += bytes;
    }
  }
  return quoted + "\"";
}

}  // namespace modelutils::hf
