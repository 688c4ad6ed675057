#include "formats/hf/config_members.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/parse_number.h"
#include "json/writer.h"

namespace modelutils::hf {

namespace {

template <typename T>
std::optional<T> number_of(std::string_view text) {
  T value = 0;
  const auto [end, error] = number_from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

// Formats a single value with the JSON writer.
template <typename Write>
std::string written(Write&& write) {
  json::Writer out;
  write(out);
  return out.text();
}

class Printer {
 public:
  std::string text;

  void print(const ConfigValue& value, std::size_t depth) {
    std::visit([&](const auto& held) { print_held(held, depth); }, value.value);
  }

  void print_held(const ConfigMembers& members, std::size_t depth) {
    if (members.empty()) {
      text += "{}";
      return;
    }
    text += '{';
    for (const ConfigMember& member : members) {
      text += &member == &members.front() ? "\n" : ",\n";
      indent(depth + 1);
      text += written([&](json::Writer& out) { out.string(member.name); }) + ": ";
      print(member.value, depth + 1);
    }
    text += '\n';
    indent(depth);
    text += '}';
  }

  void print_held(const std::vector<ConfigValue>& list, std::size_t depth) {
    text += '[';
    for (const ConfigValue& value : list) {
      if (&value != &list.front()) text += ", ";
      print(value, depth + 1);
    }
    text += ']';
  }

 private:
  void indent(std::size_t depth) { text.append(2 * depth, ' '); }

  void print_held(std::nullptr_t, std::size_t) { text += "null"; }
  void print_held(bool flag, std::size_t) { text += flag ? "true" : "false"; }
  void print_held(u64 count, std::size_t) { text += std::to_string(count); }
  void print_held(i64 count, std::size_t) { text += std::to_string(count); }
  void print_held(float real, std::size_t) {
    if (std::isfinite(real)) {
      text += written([&](json::Writer& out) { out.decimal(real); });
    } else {
      text += std::isnan(real) ? "NaN" : real > 0 ? "Infinity" : "-Infinity";
    }
  }
  void print_held(const std::string& held, std::size_t) {
    text += written([&](json::Writer& out) { out.string(held); });
  }
};

}  // namespace

const ConfigValue* find_member(const ConfigMembers& members, std::string_view name) {
  const auto exact =
      std::find_if(members.begin(), members.end(), [&](const ConfigMember& m) { return m.name == name; });
  if (exact != members.end()) return &exact->value;
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) return nullptr;
  const ConfigValue* outer = find_member(members, name.substr(0, dot));
  const auto* inner = outer == nullptr ? nullptr : std::get_if<ConfigMembers>(&outer->value);
  return inner == nullptr ? nullptr : find_member(*inner, name.substr(dot + 1));
}

void set_member(ConfigMembers& members, std::string_view name, ConfigValue value) {
  const std::size_t dot = name.find('.');
  const std::string_view first = name.substr(0, dot);
  auto found = std::find_if(members.begin(), members.end(), [&](const ConfigMember& m) { return m.name == first; });
  if (found == members.end()) {
    members.push_back({std::string(first), ConfigValue()});
    found = members.end() - 1;
  }
  if (dot == std::string_view::npos) {
    found->value = std::move(value);
    return;
  }
  if (!std::holds_alternative<ConfigMembers>(found->value.value)) found->value = ConfigMembers();
  set_member(std::get<ConfigMembers>(found->value.value), name.substr(dot + 1), std::move(value));
}

ConfigValue config_value_of(std::string_view json) {
  if (json == "null") return nullptr;
  if (json == "true" || json == "false") return json == "true";
  if (json == "[]") return std::vector<ConfigValue>();
  if (const auto count = number_of<u64>(json)) return *count;
  if (const auto count = number_of<i64>(json)) return *count;
  if (const auto real = number_of<double>(json)) return *real;
  return json;
}

std::string config_text(const ConfigMembers& members) {
  Printer printer;
  printer.print_held(members, 0);
  return std::move(printer.text) + "\n";
}

namespace {

constexpr std::string_view file_name = "generation_config.json";

void left_out(FindingLog& findings, std::string_view key, std::string_view expected) {
  findings.warning(Scope::model, "hf-generation-config", fmt::format("is not {}: left out", expected),
                   fmt::format("{}: {}", file_name, key));
}

std::optional<float> real(json::Element root, std::string_view key, FindingLog& findings) {
  if (!json::member(root, key)) return std::nullopt;
  const auto value = json::number_member(root, key);
  const float narrow = value ? static_cast<float>(*value) : NAN;
  if (std::isfinite(narrow)) return narrow;
  left_out(findings, key, "a number that a float32 can hold");
  return std::nullopt;
}

std::optional<i32> whole(json::Element root, std::string_view key, FindingLog& findings) {
  if (!json::member(root, key)) return std::nullopt;
  const auto value = json::i64_member(root, key);
  if (value && std::in_range<i32>(*value)) return static_cast<i32>(*value);
  left_out(findings, key, "a 32-bit whole number");
  return std::nullopt;
}

}  // namespace

Result<GenerationConfig> load_generation_config(const ModelFolder& folder) {
  GenerationConfig config;
  auto document = json::load_if_present(folder, file_name);
  if (document && *document == nullptr) return config;
  const bool is_broken = !document && document.error().code.starts_with("json-");
  if (!document && !is_broken) return tl::make_unexpected(std::move(document.error()));
  if (is_broken || !(*document)->root.is_object()) {
    config.findings.warning(Scope::model, "hf-generation-config",
                            fmt::format("{}; ignored", is_broken ? document.error().message : "is not a JSON object"),
                            std::string(file_name));
    return config;
  }
  config.document = std::move(*document);
  return config;
}

Sampling read_sampling(const GenerationConfig& config, FindingLog& findings) {
  Sampling sampling;
  const auto root = config.root();
  if (!root) return sampling;
  sampling.temperature = real(*root, "temperature", findings);
  sampling.top_k = whole(*root, "top_k", findings);
  sampling.top_p = real(*root, "top_p", findings);
  sampling.min_p = real(*root, "min_p", findings);
  sampling.repetition_penalty = real(*root, "repetition_penalty", findings);
  return sampling;
}

}  // namespace modelutils::hf
