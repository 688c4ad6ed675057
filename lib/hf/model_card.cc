#include "hf/model_card.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/counted.h"
#include "base/utf8.h"
#include "hf/remarks.h"
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

// Everything from here on is a comment if `#` begins the text or follows a blank.
std::string_view without_comment(std::string_view text) {
  for (std::size_t at = 0; (at = text.find('#', at)) != std::string_view::npos; ++at) {
    if (at == 0 || text[at - 1] == ' ' || text[at - 1] == '\t') return text.substr(0, at);
  }
  return text;
}

// A quoted scalar at the beginning of `text`, whose quote is text[0]; advances `text` past it. Nothing if it does not
// end. Escapes of double quotes: those that occur in names and addresses; others stand for themselves.
std::optional<std::string> take_quoted(std::string_view& text) {
  const char quote = text.front();
  std::string value;
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == quote) {
      if (quote == '\'' && i + 1 < text.size() && text[i + 1] == '\'') {
        value += '\'';
        ++i;
        continue;
      }
      text.remove_prefix(i + 1);
      return value;
    }
    if (quote == '"' && text[i] == '\\' && i + 1 < text.size()) {
      ++i;
      value += text[i] == 'n' ? '\n' : text[i] == 't' ? '\t' : text[i];
      continue;
    }
    value += text[i];
  }
  return std::nullopt;
}

// A scalar that takes the whole of `text`, but for a comment. Nothing for what we do not understand: anchors, tags,
// maps.
std::optional<std::string> scalar(std::string_view text) {
  text = trim(text);
  if (text.empty()) return std::string();
  if (text.front() == '"' || text.front() == '\'') {
    auto value = take_quoted(text);
    if (!value || !trim(without_comment(text)).empty()) return std::nullopt;
    return value;
  }
  if (std::string_view("&*!|>{}[]%@`").find(text.front()) != std::string_view::npos) return std::nullopt;
  text = trim(without_comment(text));
  if (text.find(": ") != std::string_view::npos) return std::nullopt;
  if (text == "null" || text == "~") return std::string();
  return std::string(text);
}

// "[a, 'b', "c"]", no nesting.
std::optional<std::vector<std::string>> flow_list(std::string_view text) {
  text.remove_prefix(1);
  std::vector<std::string> items;
  while (true) {
    text = trim(text);
    if (text.empty()) return std::nullopt;
    std::string item;
    if (text.front() == '"' || text.front() == '\'') {
      auto quoted = take_quoted(text);
      if (!quoted) return std::nullopt;
      item = std::move(*quoted);
    } else {
      const std::size_t end = text.find_first_of(",[]{}");
      if (end == std::string_view::npos || (text[end] != ',' && text[end] != ']')) return std::nullopt;
      item = trim(text.substr(0, end));
      text.remove_prefix(end);
    }
    if (!item.empty() && items.size() < max_items) items.push_back(std::move(item));
    text = trim(text);
    if (text.empty() || (text.front() != ',' && text.front() != ']')) return std::nullopt;
    const bool last = text.front() == ']';
    text.remove_prefix(1);
    if (last) return trim(without_comment(text)).empty() ? std::optional(items) : std::nullopt;
  }
}

struct Line {
  std::size_t indent = 0;
  std::string_view text;  // trimmed
};

// The front matter, line by line.
class CardReader {
 public:
  CardReader(std::vector<Line> lines, ModelCard& card) : lines_(std::move(lines)), card_(card) {}

  // The names of keys whose values were not understood.
  std::vector<std::string> read() {
    while (at_ < lines_.size()) {
      const Line line = lines_[at_++];
      if (line.text.empty() || line.text.front() == '#') continue;
      const std::size_t colon = line.text.find(':');
      const bool is_key = line.indent == 0 && colon != std::string_view::npos && colon > 0 &&
                          (colon + 1 == line.text.size() || line.text[colon + 1] == ' ');
      if (!is_key) continue;  // below a key that was passed over
      if (!wanted(line.text.substr(0, colon))) continue;
      if (!value(line.text.substr(0, colon), trim(line.text.substr(colon + 1)))) {
        odd_.emplace_back(line.text.substr(0, colon));
      }
    }
    return odd_;
  }

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

  bool value(std::string_view key, std::string_view text) {
    std::vector<std::string> items;
    const std::string_view bare = trim(without_comment(text));
    if (!text.empty() && text.front() == '[') {
      auto list = flow_list(text);
      if (!list) return false;
      items = std::move(*list);
    } else if (!bare.empty() && (bare.front() == '|' || bare.front() == '>')) {
      items.push_back(block_scalar(bare.front() == '|'));
    } else if (bare.empty()) {
      if (!block_list(items)) return false;
    } else {
      auto one = scalar(text);
      if (!one) return false;
      if (!one->empty()) items.push_back(std::move(*one));
    }
    store(*wanted(key), std::move(items));
    return true;
  }

  // "- item" lines, indented or not.
  bool block_list(std::vector<std::string>& items) {
    bool understood = true;
    for (; at_ < lines_.size(); ++at_) {
      const Line& line = lines_[at_];
      if (line.text.empty() || line.text.front() == '#') continue;
      if (line.text.front() != '-' || (line.text.size() > 1 && line.text[1] != ' ')) {
        if (line.indent == 0) break;
        understood = false;  // a nested map, or a scalar over several lines
        continue;
      }
      auto item = scalar(line.text.substr(1));
      if (!item) {
        understood = false;
      } else if (!item->empty() && items.size() < max_items) {
        items.push_back(std::move(*item));
      }
    }
    return understood;
  }

  // The indented lines that follow, joined by line feeds (`literal`) or spaces.
  std::string block_scalar(bool literal) {
    std::string text;
    for (; at_ < lines_.size() && (lines_[at_].indent > 0 || lines_[at_].text.empty()); ++at_) {
      if (!text.empty()) text += literal ? '\n' : ' ';
      text += lines_[at_].text;
    }
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
    return text;
  }

  void store(const Member& member, std::vector<std::string> items) {
    if (items.empty()) return;
    if (member.list != nullptr) {
      if ((card_.*member.list).empty()) card_.*member.list = std::move(items);
    } else if (!(card_.*member.text) && !items.front().empty()) {
      card_.*member.text = std::move(items.front());
    }
  }

  std::vector<Line> lines_;
  ModelCard& card_;
  std::size_t at_ = 0;
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
  std::vector<Line> lines;
  bool closed = false;
  while (!readme.empty() && !closed) {
    const std::string_view line = take_line(readme);
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    closed = indent == 0 && trim(line) == "---";
    if (!closed) lines.push_back({indent, trim(line)});
  }
  const auto remark = [&](Severity severity, std::string message) {
    findings.tell(severity, Scope::model, "hf-card-syntax", std::move(message), "README.md");
  };
  if (!closed) {
    remark(Severity::warning, "the front matter is not terminated; ignored");
    return card;
  }
  const bool valid = std::all_of(lines.begin(), lines.end(), [](const Line& line) { return is_utf8(line.text); });
  if (!valid) {
    remark(Severity::warning, "the front matter is not UTF-8; ignored");
    return card;
  }
  const std::vector<std::string> odd = CardReader(std::move(lines), card).read();
  if (!odd.empty()) {
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
