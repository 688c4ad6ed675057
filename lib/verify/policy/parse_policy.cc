#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <span>

#include "base/checked_math.h"
#include "base/path.h"
#include "io/random_access_file.h"
#include "verify/policy/policy.h"

// Formats and exceptions of toml++ are not used; its header alone costs more to compile than the rest of the folder.
#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

namespace modelutils {

namespace {

constexpr u64 max_policy_bytes = u64{1} << 20;

class PolicyReader {
 public:
  explicit PolicyReader(Policy& policy) : policy_(policy) {}

  Status read(const toml::table& root) {
    MU_TRY(only(root, "", {"name", "severity", "require", "allow", "limit", "forbid"}));
    MU_TRY(text(root, "name", policy_.name));
    MU_TRY(read_table(root, "severity", &PolicyReader::read_severity));
    MU_TRY(read_table(root, "require", &PolicyReader::read_requirements));
    MU_TRY(read_table(root, "allow", &PolicyReader::read_lists));
    MU_TRY(read_table(root, "limit", &PolicyReader::read_limits));
    return read_table(root, "forbid", &PolicyReader::read_prohibitions);
  }

 private:
  static tl::unexpected<Error> refuse(const toml::node& node, std::string_view member, std::string message) {
    return input_error("policy-member", std::move(message),
                       fmt::format("line {}: {}", node.source().begin.line, member));
  }

  static Status only(const toml::table& table, std::string_view prefix, std::initializer_list<std::string_view> known) {
    for (const auto& [key, value] : table) {
      if (std::ranges::find(known, key.str()) != known.end()) continue;
      std::string names;
      for (const std::string_view name : known) names += (names.empty() ? "" : ", ") + std::string(name);
      return refuse(value, std::string(prefix) + std::string(key.str()), "is not a member of policies here: " + names);
    }
    return {};
  }

  Status read_table(const toml::table& root, std::string_view name,
                    Status (PolicyReader::*member)(const toml::table&)) {
    const toml::node* node = root.get(name);
    if (node == nullptr) return {};
    if (!node->is_table()) return refuse(*node, name, "must be a table");
    return (this->*member)(*node->as_table());
  }

  Status read_requirements(const toml::table& require) {
    MU_TRY(only(require, "require.", {"keys", "license", "base_model", "chat_template"}));
    MU_TRY(texts(require, "keys", policy_.keys));
    MU_TRY(flag(require, "license", policy_.wants_license));
    MU_TRY(flag(require, "base_model", policy_.wants_base_model));
    return flag(require, "chat_template", policy_.wants_chat_template);
  }

  Status read_lists(const toml::table& allow) {
    MU_TRY(only(allow, "allow.", {"architectures", "types", "formats", "licenses"}));
    MU_TRY(texts(allow, "architectures", policy_.architectures));
    MU_TRY(texts(allow, "types", policy_.types));
    MU_TRY(texts(allow, "formats", policy_.formats));
    return texts(allow, "licenses", policy_.licenses);
  }

  Status read_limits(const toml::table& limit) {
    MU_TRY(only(limit, "limit.", {"size"}));
    return size(limit, "size", policy_.max_bytes);
  }

  Status read_prohibitions(const toml::table& forbid) {
    MU_TRY(only(forbid, "forbid.", {"pickles", "custom_code", "code_files"}));
    MU_TRY(flag(forbid, "pickles", policy_.forbids_pickles));
    MU_TRY(flag(forbid, "custom_code", policy_.forbids_custom_code));
    return flag(forbid, "code_files", policy_.forbids_code_files);
  }

  static Status text(const toml::table& table, std::string_view name, std::string& out) {
    const toml::node* node = table.get(name);
    if (node == nullptr) return {};
    const auto value = node->value_exact<std::string>();
    if (!value || value->empty()) return refuse(*node, name, "must be a text");
    out = *value;
    return {};
  }

  static Status flag(const toml::table& table, std::string_view name, bool& out) {
    const toml::node* node = table.get(name);
    if (node == nullptr) return {};
    const auto value = node->value_exact<bool>();
    if (!value) return refuse(*node, name, "must be true or false");
    out = *value;
    return {};
  }

  static Status texts(const toml::table& table, std::string_view name, std::vector<std::string>& out) {
    const toml::node* node = table.get(name);
    if (node == nullptr) return {};
    if (!node->is_array()) return refuse(*node, name, "must be a list of texts");
    for (const toml::node& element : *node->as_array()) {
      const auto value = element.value_exact<std::string>();
      if (!value || value->empty()) return refuse(element, name, "must be a list of texts");
      out.push_back(*value);
    }
    return {};
  }

  static Status size(const toml::table& table, std::string_view name, std::optional<u64>& out) {
    const toml::node* node = table.get(name);
    if (node == nullptr) return {};
    if (const auto number = node->value_exact<i64>(); number && *number >= 0) {
      out = static_cast<u64>(*number);
      return {};
    }
    if (const auto value = node->value_exact<std::string>()) out = bytes_of(*value);
    if (!out)
      return refuse(*node, name,
                    "must be a number of bytes, or a text such as \"20G\" (K, M, G and T are powers of 1000)");
    return {};
  }

  static std::optional<u64> bytes_of(std::string_view value) {
    u64 number = 0;
    const auto [rest, failed] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (failed != std::errc()) return std::nullopt;
    const std::string_view unit = value.substr(static_cast<std::size_t>(rest - value.data()));
    constexpr std::pair<std::string_view, u64> units[] = {
        {"", 1}, {"K", 1'000}, {"M", 1'000'000}, {"G", 1'000'000'000}, {"T", 1'000'000'000'000}};
    for (const auto& [name, factor] : units) {
      if (unit == name) return checked_mul(number, factor);
    }
    return std::nullopt;
  }

  Status read_severity(const toml::table& severities) {
    for (const auto& [key, node] : severities) {
      const std::string code(key.str());
      const auto value = node.value_exact<std::string>();
      const std::string_view name = value ? std::string_view(*value) : std::string_view();
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

// toml++ 3.3 asserts, instead of saying, that the name of a table begins as a key or with a quote ("[\x13"). Such a
// line is found here first: 1-based, 0 where there is none.
std::size_t line_of_broken_header(std::string_view text) {
  constexpr std::string_view blanks = " \t";
  std::size_t line = 1;
  for (std::string_view rest = text;; ++line) {
    const std::size_t end = rest.find('\n');
    std::string_view header = rest.substr(0, end);
    const auto skip_blanks = [&] { header.remove_prefix(std::min(header.find_first_not_of(blanks), header.size())); };
    skip_blanks();
    if (header.starts_with('[')) {
      header.remove_prefix(1);
      skip_blanks();
      if (header.starts_with('[')) header.remove_prefix(1);
      skip_blanks();
      const char first = header.empty() ? '\0' : header.front();
      const bool is_word =
          (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z') || (first >= '0' && first <= '9');
      if (!is_word && first != '_' && first != '-' && first != '"' && first != '\'' && first != ']') return line;
    }
    if (end == std::string_view::npos) return 0;
    rest.remove_prefix(end + 1);
  }
}

}  // namespace

Result<Policy> parse_policy(std::string_view text, std::string path) {
  if (const std::size_t line = line_of_broken_header(text); line != 0) {
    return input_error("policy-syntax", "is not TOML: a table's name must be letters, digits, '-' and '_', or quoted",
                       fmt::format("line {}", line), {}, std::move(path));
  }
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    const auto& begin = parsed.error().source().begin;
    return input_error("policy-syntax", fmt::format("is not TOML: {}", parsed.error().description()),
                       fmt::format("line {}, column {}", begin.line, begin.column), {}, std::move(path));
  }
  Policy policy;
  policy.name = base_name_of(path);
  if (policy.name.ends_with(".toml")) policy.name.resize(policy.name.size() - 5);
  policy.path = path;
  if (Status read = PolicyReader(policy).read(parsed.table()); !read) {
    return tl::make_unexpected(in_file(std::move(read.error()), path));
  }
  return policy;
}

Result<Policy> load_policy(const std::string& path) {
  MU_ASSIGN(const auto file, RandomAccessFile::open(path));
  if (file->file_size() > max_policy_bytes) {
    return input_error("policy-syntax",
                       fmt::format("has {} bytes; a policy has at most {}", file->file_size(), max_policy_bytes), {},
                       {}, path);
  }
  std::string text(file->file_size(), '\0');
  MU_TRY(file->read_exact(0, std::as_writable_bytes(std::span(text))));
  return parse_policy(text, path);
}

}  // namespace modelutils
