#include "formats/hf/model_card.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "base/escape.h"
#include "base/text.h"
#include "base/utf8.h"
#include "formats/gguf/document.h"
#include "formats/gguf/parse.h"
#include "formats/hf/config_members.h"
#include "io/file_kind.h"

namespace modelutils::hf {

namespace {

constexpr u64 max_card_bytes = u64{1} << 20;
constexpr std::size_t max_items = 1000;
constexpr std::string_view yaml_blanks = " \t\r";

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(yaml_blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(yaml_blanks) - first + 1);
}

// Returns the text of the current scalar: nullopt if it has an anchor or a tag, "" for null.
std::optional<std::string> scalar_of(const YamlEvents& events) {
  if (events.has_anchor_or_tag()) return std::nullopt;
  std::string text(events.text());
  if (events.is_plain() && (text == "null" || text == "Null" || text == "NULL" || text == "~")) return std::string();
  while (!text.empty() && text.back() == '\n') text.pop_back();  // from a block scalar
  return text;
}

// Reads one member of the front matter: "key: value" and its continuation lines. An error affects this member only.
class CardReader {
 public:
  explicit CardReader(ModelCard& card) : card_(card) {}

  void read(std::string_view text) {
    YamlEvents events(text);
    while (true) {
      const yaml_event_type_t type = events.next();
      if (type == YAML_SCALAR_EVENT) break;
      if (type != YAML_STREAM_START_EVENT && type != YAML_DOCUMENT_START_EVENT && type != YAML_MAPPING_START_EVENT) {
        return odd(text);
      }
    }
    const std::optional<std::string> key = scalar_of(events);
    const Member* member = key ? wanted(*key) : nullptr;
    if (member == nullptr) return;
    std::vector<std::string> items;
    if (!read_value(events, items)) return odd(text);
    store(*member, std::move(items));
  }

  /// Returns the known keys whose values could not be read.
  const std::vector<std::string>& odd() const { return odd_; }

 private:
  struct Member {
    std::string_view key;
    std::optional<std::string> ModelCard::*text;
    std::vector<std::string> ModelCard::*list;
  };
  static constexpr std::array<Member, 30> members = {{
      {"license", &ModelCard::license, nullptr},
      {"license_name", &ModelCard::license_name, nullptr},
      {"license_link", &ModelCard::license_link, nullptr},
      {"author", &ModelCard::author, nullptr},
      {"model_author", &ModelCard::author, nullptr},
      {"model_creator", &ModelCard::author, nullptr},
      {"pipeline_tag", &ModelCard::pipeline_tag, nullptr},
      {"name", &ModelCard::name, nullptr},
      {"model_name", &ModelCard::name, nullptr},
      {"organization", &ModelCard::organization, nullptr},
      {"model_organization", &ModelCard::organization, nullptr},
      {"basename", &ModelCard::basename, nullptr},
      {"model_basename", &ModelCard::basename, nullptr},
      {"model_type", &ModelCard::basename, nullptr},
      {"finetune", &ModelCard::finetune, nullptr},
      {"model_finetune", &ModelCard::finetune, nullptr},
      {"version", &ModelCard::version, nullptr},
      {"model_version", &ModelCard::version, nullptr},
      {"size_label", &ModelCard::size_label, nullptr},
      {"model_size_label", &ModelCard::size_label, nullptr},
      {"description", &ModelCard::description, nullptr},
      {"model_description", &ModelCard::description, nullptr},
      {"base_model", nullptr, &ModelCard::base_models},
      {"base_models", nullptr, &ModelCard::base_models},
      {"tags", nullptr, &ModelCard::tags},
      {"language", nullptr, &ModelCard::languages},
      {"languages", nullptr, &ModelCard::languages},
      {"datasets", nullptr, &ModelCard::datasets},
      {"dataset", nullptr, &ModelCard::datasets},
  }};

  static const Member* wanted(std::string_view key) {
    const auto* found = std::find_if(members.begin(), members.end(), [&](const Member& one) { return one.key == key; });
    return found == members.end() ? nullptr : found;
  }

  // Reads a scalar or a sequence of scalars, which must be the member's only value.
  static bool read_value(YamlEvents& events, std::vector<std::string>& items) {
    const auto take = [&] {
      const std::optional<std::string> text = scalar_of(events);
      if (text && !text->empty() && items.size() < max_items) items.push_back(*text);
      return text.has_value();
    };
    switch (events.next()) {
      case YAML_SCALAR_EVENT:
        if (!take()) return false;
        break;
      case YAML_SEQUENCE_START_EVENT:
        if (events.has_anchor_or_tag()) return false;
        while (true) {
          const yaml_event_type_t type = events.next();
          if (type == YAML_SEQUENCE_END_EVENT) break;
          if (type != YAML_SCALAR_EVENT || !take()) return false;
        }
        break;
      default: return false;  // a map, an alias, or not YAML
    }
    return events.next() == YAML_MAPPING_END_EVENT;
  }

  void odd(std::string_view text) {
    const std::string_view key = trim(text.substr(0, text.find(':')));
    if (wanted(key) != nullptr) odd_.emplace_back(key);
  }

  void store(const Member& member, std::vector<std::string> items) {
    if (items.empty()) return;
    if (member.list != nullptr) {
      if ((card_.*member.list).empty()) card_.*member.list = std::move(items);
    } else if (!(card_.*member.text) && !items.front().empty()) {
      card_.*member.text = std::move(items.front());
    }
  }

  ModelCard& card_;
  std::vector<std::string> odd_;
};

std::string_view take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(text.size(), line.size() + 1));
  return line;
}

}  // namespace

ModelCard parse_model_card(std::string_view readme, FindingLog& findings) {
  ModelCard card;
  readme = readme.substr(0, max_card_bytes);
  if (const FileKind kind = file_kind(readme.substr(0, file_kind_bytes)); kind == FileKind::git_lfs) {
    findings.warning(Scope::model, "hf-card-syntax", fmt::format("is {}", file_kind_text(kind)), "README.md");
    return card;
  }
  if (trim(take_line(readme)) != "---") return card;
  const std::string_view whole = readme;
  std::vector<std::size_t> begins;  // start of each member: a line that does not begin with a blank, '#' or '-'
  bool closed = false;
  std::size_t end = 0;
  while (!readme.empty() && !closed) {
    end = whole.size() - readme.size();
    const std::string_view line = take_line(readme);
    closed = line.starts_with("---") && trim(line) == "---";
    if (!closed && !line.empty() && std::string_view(" \t\r#-").find(line.front()) == line.npos) begins.push_back(end);
  }
  const auto remark = [&](Severity severity, std::string message) {
    findings.add(severity, Scope::model, "hf-card-syntax", std::move(message), "README.md");
  };
  if (!closed) {
    remark(Severity::warning, "the front matter is not terminated; ignored");
    return card;
  }
  if (!is_utf8(whole.substr(0, end))) {
    remark(Severity::warning, "the front matter is not UTF-8; ignored");
    return card;
  }
  CardReader reader(card);
  begins.push_back(end);
  for (std::size_t i = 0; i + 1 < begins.size(); ++i) reader.read(whole.substr(begins[i], begins[i + 1] - begins[i]));
  if (const std::vector<std::string>& odd = reader.odd(); !odd.empty()) {
    remark(Severity::note,
           fmt::format("the value of '{}' cannot be read and is left out{}", odd.front(),
                       odd.size() == 1 ? "" : fmt::format(" (and {})", counted(odd.size() - 1, "other"))));
  }
  return card;
}

Result<ModelCard> read_model_card(const ModelFolder& folder, FindingLog& findings) {
  MU_ASSIGN(const auto file, open_side_file(folder, "README.md"));
  if (file == nullptr) return ModelCard{};
  std::string text(static_cast<std::size_t>(std::min(file->file_size(), max_card_bytes)), '\0');
  MU_TRY(file->read_exact(0, std::as_writable_bytes(std::span(text))));
  return parse_model_card(text, findings);
}

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
    const bool needs_name = options.is_reranker && !name.starts_with(reranker_name);
    text_ += fmt::format("# {}{}\n\n", needs_name ? std::string(reranker_name) + ": " : "", markdown(name));
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
