#include "verify/policy/policy_yaml.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "base/utf8.h"
#include "hf/yaml_events.h"

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

}  // namespace modelutils
