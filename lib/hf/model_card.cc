#include "hf/model_card.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/counted.h"
#include "base/utf8.h"
#include "hf/remarks.h"
#include "hf/yaml_events.h"
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

}  // namespace modelutils::hf
