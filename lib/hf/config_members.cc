#include "hf/config_members.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "json/writer.h"

namespace modelutils::hf {

namespace {

template <typename T>
std::optional<T> number_of(std::string_view text) {
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
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
  if (const auto real = number_of<double>(json)) return *real;
  return json;
}

std::string config_text(const ConfigMembers& members) {
  Printer printer;
  printer.print_held(members, 0);
  return std::move(printer.text) + "\n";
}

}  // namespace modelutils::hf
