#include "hf/model_card_writer.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "base/escape.h"
#include "base/utf8.h"
#include "gguf/keys.h"
#include "gguf/parse.h"

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

namespace {

constexpr u64 most_entries = 1000;  // per list; cards usually have about ten
constexpr std::string_view hub = "https://huggingface.co/";

class KeyCard {
 public:
  explicit KeyCard(const gguf::SetFile& file) : file_(file), index_(file.document) {}

  Result<ModelCard> read() const {
    ModelCard card;
    card.license = text("general.license");
    card.license_name = text("general.license.name");
    card.license_link = text("general.license.link");
    card.author = text("general.author");
    card.name = text("general.name");
    card.organization = text("general.organization");
    card.basename = text("general.basename");
    card.finetune = text("general.finetune");
    card.version = text("general.version");
    card.size_label = text("general.size_label");
    card.description = text("general.description");
    card.base_models = sources("base_model");
    MU_ASSIGN(card.tags, list("general.tags"));
    card.pipeline_tag = pipeline_of(card.tags);
    MU_ASSIGN(card.languages, list("general.languages"));
    card.datasets = sources("dataset");
    if (card.datasets.empty()) {
      MU_ASSIGN(card.datasets, list("general.datasets"));
    }
    return card;
  }

 private:
  std::optional<std::string> text(std::string_view key) const {
    const auto found = index_.string_value(key);
    return found && !found->empty() && is_utf8(*found) ? std::optional<std::string>(*found) : std::nullopt;
  }

  // A GGUF stores the pipeline tag as one of its tags.
  static std::optional<std::string> pipeline_of(const std::vector<std::string>& tags) {
    constexpr std::array<std::string_view, 3> pipelines = {"text-generation", "image-text-to-text",
                                                           "feature-extraction"};
    const auto* found = std::find_if(pipelines.begin(), pipelines.end(), [&](std::string_view one) {
      return std::find(tags.begin(), tags.end(), one) != tags.end();
    });
    return found != pipelines.end() ? std::optional<std::string>(*found) : std::nullopt;
  }

  Result<std::vector<std::string>> list(std::string_view key) const {
    std::vector<std::string> values;
    const gguf::ArrayRef* array = index_.array_value(key);
    if (array == nullptr || array->element_type != gguf::ValueType::string) {
      if (auto single = text(key)) values.push_back(std::move(*single));
      return values;
    }
    MU_ASSIGN(values, gguf::read_strings(*file_.source, file_.document, *array, most_entries));
    std::erase_if(values, [](const std::string& value) { return value.empty() || !is_utf8(value); });
    return values;
  }

  // Reads general.base_model.0.repo_url and similar keys as "organisation/name".
  std::vector<std::string> sources(std::string_view kind) const {
    std::vector<std::string> found;
    const u64 count = index_.unsigned_value(fmt::format("general.{}.count", kind)).value_or(0);
    for (u64 i = 0; i < std::min(count, most_entries); ++i) {
      const std::string prefix = fmt::format("general.{}.{}.", kind, i);
      const auto address = text(prefix + "repo_url");
      const auto name = text(prefix + "name");
      const auto organization = text(prefix + "organization");
      if (address) {
        std::string_view path = *address;
        if (path.starts_with(hub)) path.remove_prefix(hub.size());
        if (path.starts_with("datasets/")) path.remove_prefix(9);
        found.emplace_back(path);
      } else if (name) {
        found.push_back(organization ? fmt::format("{}/{}", *organization, *name) : *name);
      }
    }
    return found;
  }

  const gguf::SetFile& file_;
  gguf::Index index_;
};

}  // namespace

Result<ModelCard> card_from_keys(const gguf::SplitSet& set) {
  return KeyCard(set.files.front()).read();
}

}  // namespace modelutils::hf
