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

constexpr u64 most_entries = 1000;  // of a list; cards have some ten
constexpr std::string_view hub = "https://huggingface.co/";

class CardWriter {
 public:
  explicit CardWriter(const gguf::SetFile& file) : file_(file), index_(file.document) {}

  Result<std::string> write(const ModelCardOptions& options) {
    text_ = "---\n";
    add_text("license", "general.license");
    add_text("license_name", "general.license.name");
    add_text("license_link", "general.license.link");
    add_list("base_model", sources("base_model"));
    if (!options.library.empty()) text_ += fmt::format("library_name: {}\n", yaml_string(options.library));
    MU_ASSIGN(const auto tags, list("general.tags"));
    add_pipeline(tags);
    add_list("tags", with(tags, options.library));
    MU_ASSIGN(const auto languages, list("general.languages"));
    add_list("language", languages);
    std::vector<std::string> datasets = sources("dataset");
    if (datasets.empty()) {
      MU_ASSIGN(datasets, list("general.datasets"));
    }
    add_list("datasets", datasets);
    text_ += "---\n\n";
    add_body(options);
    return std::move(text_);
  }

 private:
  // A text that YAML and Markdown can hold.
  std::optional<std::string_view> stated(std::string_view key) const {
    const auto found = index_.string_value(key);
    return found && !found->empty() && is_utf8(*found) ? found : std::nullopt;
  }

  void add_text(std::string_view name, std::string_view key) {
    if (const auto value = stated(key)) text_ += fmt::format("{}: {}\n", name, yaml_string(*value));
  }

  void add_list(std::string_view name, const std::vector<std::string>& values) {
    if (values.empty()) return;
    text_ += fmt::format("{}:\n", name);
    for (const std::string& value : values) text_ += fmt::format("- {}\n", yaml_string(value));
  }

  // What a model is for is a tag in a GGUF.
  void add_pipeline(const std::vector<std::string>& tags) {
    constexpr std::array<std::string_view, 3> pipelines = {"text-generation", "image-text-to-text",
                                                           "feature-extraction"};
    const auto* found = std::find_if(pipelines.begin(), pipelines.end(), [&](std::string_view one) {
      return std::find(tags.begin(), tags.end(), one) != tags.end();
    });
    if (found != pipelines.end()) text_ += fmt::format("pipeline_tag: {}\n", *found);
  }

  static std::vector<std::string> with(std::vector<std::string> tags, std::string_view library) {
    if (!library.empty() && std::find(tags.begin(), tags.end(), library) == tags.end()) tags.emplace_back(library);
    return tags;
  }

  Result<std::vector<std::string>> list(std::string_view key) const {
    std::vector<std::string> values;
    const gguf::ArrayRef* array = index_.array_value(key);
    if (array == nullptr || array->element_type != gguf::ValueType::string) {
      if (const auto single = stated(key)) values.emplace_back(*single);
      return values;
    }
    MU_ASSIGN(values, gguf::read_strings(*file_.source, file_.document, *array, most_entries));
    std::erase_if(values, [](const std::string& value) { return value.empty() || !is_utf8(value); });
    return values;
  }

  // general.base_model.0.repo_url and its like, as "organisation/name".
  std::vector<std::string> sources(std::string_view kind) const {
    std::vector<std::string> found;
    const u64 count = index_.unsigned_value(fmt::format("general.{}.count", kind)).value_or(0);
    for (u64 i = 0; i < std::min(count, most_entries); ++i) {
      const std::string prefix = fmt::format("general.{}.{}.", kind, i);
      const auto address = stated(prefix + "repo_url");
      const auto name = stated(prefix + "name");
      const auto organization = stated(prefix + "organization");
      if (address) {
        std::string_view path = *address;
        if (path.starts_with(hub)) path.remove_prefix(hub.size());
        if (path.starts_with("datasets/")) path.remove_prefix(9);
        found.emplace_back(path);
      } else if (name) {
        found.push_back(organization ? fmt::format("{}/{}", *organization, *name) : std::string(*name));
      }
    }
    return found;
  }

  void add_body(const ModelCardOptions& options) {
    const std::string_view name = stated("general.name").value_or(options.source);
    text_ += fmt::format("# {}\n\n", markdown(name));
    if (const auto description = stated("general.description")) text_ += markdown(*description) + "\n\n";
    text_ += fmt::format("Made from the GGUF file `{}` by {}.\n", code(options.source), options.made_by);
    if (const auto author = stated("general.author")) text_ += fmt::format("\nAuthor: {}\n", markdown(*author));
    if (const auto licence = stated("general.license")) text_ += fmt::format("\nLicence: {}\n", markdown(*licence));
  }

  // Text on one line that means nothing to Markdown or HTML.
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

  const gguf::SetFile& file_;
  gguf::Index index_;
  std::string text_;
};

}  // namespace

Result<std::string> model_card_text(const gguf::SplitSet& set, const ModelCardOptions& options) {
  return CardWriter(set.files.front()).write(options);
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
