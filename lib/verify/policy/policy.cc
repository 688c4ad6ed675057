#include "verify/policy/policy.h"

#include <fmt/core.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <span>

#include "base/not_found.h"
#include "base/parse_number.h"
#include "base/path.h"
#include "base/text.h"
#include "base/types.h"
#include "base/utf8.h"
#include "formats/hf/model_card.h"
#include "io/random_access_file.h"

namespace modelutils {

namespace {

constexpr std::size_t deepest = 2;  // a list in a top-level table

class YamlReader {
 public:
  explicit YamlReader(std::string_view text) : events_(text) {}

  Result<YamlValue> document() {
    YamlValue top;
    top.kind = YamlValue::Kind::map;
    yaml_event_type_t type = events_.next();
    if (type == YAML_STREAM_START_EVENT) type = events_.next();
    if (type == YAML_STREAM_END_EVENT) return top;
    if (type == YAML_DOCUMENT_START_EVENT) type = events_.next();
    const bool is_empty = type == YAML_SCALAR_EVENT && events_.text().empty() && events_.is_plain();
    if (!is_empty && type != YAML_NO_EVENT && type != YAML_MAPPING_START_EVENT) {
      return refuse("must be a map: NAME: VALUE in each line (policies are YAML, and were TOML before)");
    }
    if (!is_empty) {
      MU_ASSIGN(top, value(type, 0));
    }
    MU_TRY(expect(YAML_DOCUMENT_END_EVENT));
    MU_TRY(expect(YAML_STREAM_END_EVENT));
    return top;
  }

 private:
  tl::unexpected<Error> refuse(std::string message, u64 line) const {
    return input_error("policy-syntax", std::move(message), fmt::format("line {}", line));
  }
  tl::unexpected<Error> refuse(std::string message) const { return refuse(std::move(message), events_.line()); }
  tl::unexpected<Error> no_yaml() const {
    return refuse(fmt::format("is not YAML: {}", events_.problem()), events_.problem_line());
  }

  Status expect(yaml_event_type_t wanted) {
    const yaml_event_type_t type = events_.next();
    if (type == wanted) return {};
    if (type == YAML_NO_EVENT) return no_yaml();
    return refuse("begins a second document; a policy is a single one");
  }

  // Parses the value that an event begins. The depth is bounded, so the recursion is too.
  Result<YamlValue> value(yaml_event_type_t type, std::size_t depth) {
    if (type == YAML_NO_EVENT) return no_yaml();
    if (type == YAML_ALIAS_EVENT || events_.has_anchor_or_tag()) {
      return refuse(
          "has an alias, an anchor or a tag (*, & or !), which policies do not use; put texts with them in quotes");
    }
    if (++values_ > max_policy_values) return refuse(fmt::format("has more than {} values", max_policy_values));
    YamlValue node;
    node.line = events_.line();
    if (type == YAML_SCALAR_EVENT) {
      if (events_.is_block()) return refuse("has a multi-line text (| or >); a text must be on one line");
      node.text = events_.text();
      node.is_quoted = !events_.is_plain();
      return node;
    }
    if (depth > deepest) return refuse("is nested deeper than any part of a policy");
    if (type == YAML_SEQUENCE_START_EVENT) {
      node.kind = YamlValue::Kind::list;
      MU_TRY(list(node, depth));
    } else {
      node.kind = YamlValue::Kind::map;
      MU_TRY(map(node, depth));
    }
    return node;
  }

  Status list(YamlValue& list, std::size_t depth) {
    while (true) {
      const yaml_event_type_t type = events_.next();
      if (type == YAML_SEQUENCE_END_EVENT) return {};
      MU_ASSIGN(YamlValue item, value(type, depth + 1));
      list.items.push_back(std::move(item));
    }
  }

  Status map(YamlValue& map, std::size_t depth) {
    std::map<std::string, u64, std::less<>> lines;
    while (true) {
      const yaml_event_type_t type = events_.next();
      if (type == YAML_MAPPING_END_EVENT) return {};
      MU_ASSIGN(YamlValue name, value(type, deepest + 1));
      if (name.text.empty()) return refuse("has a name that is empty", name.line);
      const auto [known, is_new] = lines.emplace(name.text, name.line);
      if (!is_new) return refuse(fmt::format("has '{}' twice, first on line {}", name.text, known->second), name.line);
      MU_ASSIGN(YamlValue member, value(events_.next(), depth + 1));
      member.name = std::move(name.text);
      map.members.push_back(std::move(member));
    }
  }

  hf::YamlEvents events_;
  std::size_t values_ = 0;
};

}  // namespace

const YamlValue* YamlValue::find(std::string_view wanted) const {
  const auto found = std::ranges::find(members, wanted, &YamlValue::name);
  return found == members.end() ? nullptr : &*found;
}

Result<YamlValue> parse_policy_yaml(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // a byte order mark
  if (!is_utf8(text)) return input_error("policy-syntax", "is not UTF-8", "line 1");
  return YamlReader(text).document();
}

namespace {

constexpr u64 max_policy_bytes = u64{1} << 20;

class PolicyReader {
 public:
  explicit PolicyReader(Policy& policy) : policy_(policy) {}

  Status read(const YamlValue& root) {
    MU_TRY(only(root, "", {"name", "severity", "require", "allow", "limit", "forbid"}));
    MU_TRY(text(root, "name", policy_.name));
    MU_TRY(read_table(root, "severity", &PolicyReader::read_severity));
    MU_TRY(read_table(root, "require", &PolicyReader::read_requirements));
    MU_TRY(read_table(root, "allow", &PolicyReader::read_lists));
    MU_TRY(read_table(root, "limit", &PolicyReader::read_limits));
    return read_table(root, "forbid", &PolicyReader::read_prohibitions);
  }

 private:
  static tl::unexpected<Error> refuse(const YamlValue& node, std::string_view member, std::string message) {
    return input_error("policy-member", std::move(message), fmt::format("line {}: {}", node.line, member));
  }

  static Status only(const YamlValue& table, std::string_view prefix, std::initializer_list<std::string_view> known) {
    for (const YamlValue& member : table.members) {
      if (std::ranges::find(known, member.name) != known.end()) continue;
      ClosestName closest(member.name);
      std::string names;
      for (const std::string_view each : known) {
        closest.offer(each);
        names += (names.empty() ? "" : ", ") + std::string(each);
      }
      return refuse(member, std::string(prefix) + member.name,
                    fmt::format("is not a member of policies here{}: {}", closest.hint(), names));
    }
    return {};
  }

  Status read_table(const YamlValue& root, std::string_view name, Status (PolicyReader::*member)(const YamlValue&)) {
    const YamlValue* node = root.find(name);
    if (node == nullptr) return {};
    if (node->kind != YamlValue::Kind::map) return refuse(*node, name, "must be a map");
    return (this->*member)(*node);
  }

  Status read_requirements(const YamlValue& require) {
    MU_TRY(only(require, "require.", {"keys", "license", "base_model", "chat_template"}));
    MU_TRY(texts(require, "keys", policy_.keys));
    MU_TRY(flag(require, "license", policy_.wants_license));
    MU_TRY(flag(require, "base_model", policy_.wants_base_model));
    return flag(require, "chat_template", policy_.wants_chat_template);
  }

  Status read_lists(const YamlValue& allow) {
    MU_TRY(only(allow, "allow.", {"architectures", "types", "formats", "licenses"}));
    MU_TRY(texts(allow, "architectures", policy_.architectures));
    MU_TRY(texts(allow, "types", policy_.types));
    MU_TRY(texts(allow, "formats", policy_.formats));
    return texts(allow, "licenses", policy_.licenses);
  }

  Status read_limits(const YamlValue& limit) {
    MU_TRY(only(limit, "limit.", {"size"}));
    return size(limit, "size", policy_.max_bytes);
  }

  Status read_prohibitions(const YamlValue& forbid) {
    MU_TRY(only(forbid, "forbid.", {"pickles", "custom_code", "code_files"}));
    MU_TRY(flag(forbid, "pickles", policy_.forbids_pickles));
    MU_TRY(flag(forbid, "custom_code", policy_.forbids_custom_code));
    return flag(forbid, "code_files", policy_.forbids_code_files);
  }

  // True if the node is text. False for null, true, 12 and the like, which YAML parsers read as other types.
  static bool is_text(const YamlValue& node) {
    if (node.kind != YamlValue::Kind::text || node.text.empty()) return false;
    if (node.is_quoted) return true;
    std::string lower = node.text;
    for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    constexpr std::string_view others[] = {"~", "null", "true", "false", "yes", "no", "on", "off", "y", "n"};
    double number = 0;
    const auto [end, failed] = number_from_chars(lower.data(), lower.data() + lower.size(), number);
    return std::ranges::find(others, lower) == std::end(others) && end != lower.data() + lower.size();
  }

  static Status text(const YamlValue& table, std::string_view name, std::string& out) {
    const YamlValue* node = table.find(name);
    if (node == nullptr) return {};
    if (!is_text(*node)) return refuse(*node, name, "must be a text that is not empty; put it in quotes");
    out = node->text;
    return {};
  }

  static Status flag(const YamlValue& table, std::string_view name, bool& out) {
    const YamlValue* node = table.find(name);
    if (node == nullptr) return {};
    const bool is_plain = node->kind == YamlValue::Kind::text && !node->is_quoted;
    if (!is_plain || (node->text != "true" && node->text != "false")) {
      return refuse(*node, name, "must be true or false");
    }
    out = node->text == "true";
    return {};
  }

  static Status texts(const YamlValue& table, std::string_view name, std::vector<std::string>& out) {
    const YamlValue* node = table.find(name);
    if (node == nullptr) return {};
    if (node->kind != YamlValue::Kind::list) return refuse(*node, name, "must be a list of texts");
    for (const YamlValue& element : node->items) {
      if (!is_text(element))
        return refuse(element, name, "must be a list of texts that are not empty; put each in quotes");
      out.push_back(element.text);
    }
    return {};
  }

  static Status size(const YamlValue& table, std::string_view name, std::optional<u64>& out) {
    const YamlValue* node = table.find(name);
    if (node == nullptr) return {};
    u64 bytes = 0;
    if (node->kind != YamlValue::Kind::text || parse_bytes(node->text, 1000, bytes) != std::errc())
      return refuse(*node, name, "must be a number of bytes, or one such as 1.5G (K, M, G and T are powers of 1000)");
    out = bytes;
    return {};
  }

  Status read_severity(const YamlValue& severities) {
    for (const YamlValue& node : severities.members) {
      const std::string& code = node.name;
      const std::string_view name = node.text;
      if (name != "error" && name != "warning" && name != "note") {
        return refuse(node, "severity." + code, "must be error, warning or note");
      }
      policy_.severities[code] = name == "error"     ? Severity::error
                                 : name == "warning" ? Severity::warning
                                                     : Severity::note;
    }
    return {};
  }

  Policy& policy_;
};

}  // namespace

Result<Policy> parse_policy(std::string_view text, std::string path) {
  const auto root = parse_policy_yaml(text);
  if (!root) return tl::make_unexpected(in_file(root.error(), path));
  Policy policy;
  policy.name = path == "-" ? "standard input" : base_name_of(path);
  for (const std::string_view ending : {".yaml", ".yml"}) {
    if (policy.name.ends_with(ending)) policy.name.resize(policy.name.size() - ending.size());
  }
  policy.path = path;
  if (Status read = PolicyReader(policy).read(*root); !read) {
    return tl::make_unexpected(in_file(std::move(read.error()), path));
  }
  return policy;
}

Result<Policy> load_policy(const std::string& path) {
  MU_ASSIGN(const auto source, open_source(path));
  std::string text;
  for (std::size_t got = 1; got > 0 && text.size() <= max_policy_bytes;) {
    constexpr std::size_t piece = std::size_t{1} << 16;
    const std::size_t size = text.size();
    text.resize(size + piece);
    MU_ASSIGN(got, source->read_some(size, std::as_writable_bytes(std::span(text).subspan(size))));
    text.resize(size + got);
  }
  if (text.size() > max_policy_bytes) {
    return input_error("policy-syntax",
                       fmt::format("has more than {} bytes, the most that a policy has", max_policy_bytes), {}, {},
                       path);
  }
  return parse_policy(text, path);
}

}  // namespace modelutils
