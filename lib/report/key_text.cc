#include "report/key_text.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/escape.h"
#include "base/text.h"
#include "base/utf8.h"
#include "formats/gguf/document.h"
#include "model/listing/listing.h"

namespace modelutils {

namespace {

// Writes any value except an array.
void write_scalar(json::Writer& json, const ListedValue& value) {
  std::visit(
      [&](const auto& scalar) {
        using T = std::decay_t<decltype(scalar)>;
        if constexpr (std::is_same_v<T, std::string_view>) {
          json.string(scalar);
        } else if constexpr (std::is_same_v<T, bool>) {
          json.boolean(scalar);
        } else if constexpr (std::is_same_v<T, ListedArray>) {
          json.null();
        } else if constexpr (std::is_same_v<T, float>) {
          json.number(static_cast<double>(scalar));
        } else {
          json.number(scalar);
        }
      },
      value);
}

}  // namespace

bool ArrayToJson::begin() {
  json_.begin_array();
  return true;
}

bool ArrayToJson::end() {
  json_.end_array();
  return true;
}

bool ArrayToJson::text(std::string_view text) {
  json_.string(text);
  return true;
}

bool ArrayToJson::scalar(const gguf::Value& value) {
  write_scalar(json_, listed_scalar(value));
  return true;
}

Status write_json_value(json::Writer& json, const ListedValue& value) {
  const auto* array = std::get_if<ListedArray>(&value);
  if (array == nullptr) {
    write_scalar(json, value);
    return {};
  }
  ArrayToJson elements(json);
  const auto in_array = json.array();
  MU_TRY(gguf::visit_array(*array->file->source, array->file->document, array->array, elements));
  return {};
}

Status write_array_types(json::Writer& json, ListedArray listed) {
  const auto in_array_types = json.array("array_types");
  gguf::ArrayRef array = listed.array;
  // gguf-py derives the types from the first elements, so an empty array has none.
  while (array.count != 0) {
    json.string(gguf::value_type_name(array.element_type));
    if (array.element_type != gguf::ValueType::array) break;
    MU_ASSIGN(const auto first, gguf::read_values(*listed.file->source, listed.file->document, array, 1));
    if (first.empty() || !std::holds_alternative<gguf::ArrayRef>(first[0])) break;
    array = std::get<gguf::ArrayRef>(first[0]);
  }
  return {};
}

namespace {

std::string replace_bad_bytes(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const CodePoint point = decode_utf8(text);
    append_utf8(out, point.valid ? point.value : 0xFFFD);
    text.remove_prefix(point.size);
  }
  return out;
}

}  // namespace

std::string_view MemberNames::claim(std::string_view text, bool& altered) {
  altered = false;
  std::string_view name = text;
  if (!is_utf8(text)) {
    name = keep(replace_bad_bytes(text));
    altered = true;
  }
  if (names_.insert(name).is_new) {
    uses_.push_back(1);
    return name;
  }
  altered = true;
  const u32 base = *names_.find(name);
  while (true) {
    const std::string_view next = keep(fmt::format("{}#{}", name, ++uses_[base]));
    if (names_.insert(next).is_new) {
      uses_.push_back(1);
      return next;
    }
    kept_.pop_back();
  }
}

namespace {

using gguf::short_type_name;

std::string array_type_text(const gguf::ArrayRef& array) {
  return fmt::format("{}[{}]", short_type_name(array.element_type), thousands(array.count));
}

// Returns escaped text in quotes. Escaping leaves no lone backslash, so a quote in the text cannot be mistaken for its
// end.
std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '\\';
    out += c;
  }
  return out + '"';
}

// Writes text verbatim; for a terminal escaped, except line feeds.
void write_text(TextOutput& out, std::string_view text, bool for_terminal) {
  if (!for_terminal) {
    out << text << "\n";
    return;
  }
  while (true) {
    const std::size_t end = text.find('\n');
    out << escape(text.substr(0, end)) << "\n";
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

// Writes one element per line: scalars and strings raw, inner arrays as JSON.
class ElementLines : public gguf::ArrayVisitor {
 public:
  ElementLines(TextOutput& out, bool for_terminal)
      : out_(out),
        for_terminal_(for_terminal),
        json_(json::Writer::Style::compact, [&](std::string_view text) { out_ << text; }),
        inner_(json_) {}

  bool begin() override {
    ++depth_;
    return inner_.begin();
  }

  bool end() override {
    inner_.end();
    if (--depth_ > 0) return true;
    json_.end_line();
    json_.flush();
    return !out_.closed();
  }

  bool text(std::string_view text) override {
    if (depth_ > 0) return inner_.text(text);
    if (for_terminal_) {
      out_ << escape(text) << "\n";
    } else {
      out_ << text << "\n";
    }
    return !out_.closed();
  }

  bool scalar(const gguf::Value& value) override {
    if (depth_ > 0) return inner_.scalar(value);
    out_ << scalar_text(listed_scalar(value)) << "\n";
    return !out_.closed();
  }

 private:
  TextOutput& out_;
  bool for_terminal_;
  json::Writer json_;
  ArrayToJson inner_;
  std::size_t depth_ = 0;
};

}  // namespace

std::string scalar_text(const ListedValue& value) {
  return std::visit(
      [](const auto& scalar) -> std::string {
        using T = std::decay_t<decltype(scalar)>;
        if constexpr (std::is_same_v<T, std::string_view>) {
          return escape(scalar);
        } else if constexpr (std::is_same_v<T, bool>) {
          return scalar ? "true" : "false";
        } else if constexpr (std::is_same_v<T, ListedArray>) {
          return {};
        } else if constexpr (std::is_floating_point_v<T>) {
          return float_text(scalar);
        } else {
          return std::to_string(scalar);
        }
      },
      value);
}

std::string key_type_text(const ListedKey& key) {
  if (const auto* array = std::get_if<ListedArray>(&key.value)) return array_type_text(array->array);
  return std::string(short_type_name(key.type));
}

Result<std::string> preview(const ListedValue& value, std::size_t columns) {
  if (const auto* text = std::get_if<std::string_view>(&value)) return escape(*text, columns);
  const auto* listed = std::get_if<ListedArray>(&value);
  if (listed == nullptr) return scalar_text(value);
  const gguf::ArrayRef& array = listed->array;
  const gguf::SetFile& file = *listed->file;
  const u64 most = std::min<u64>(array.count, columns / 3 + 1);  // the shortest element is "0, "
  std::string line = "[";
  u64 shown = 0;
  const auto append = [&](const std::string& element) {
    if (shown > 0 && display_width(line) + display_width(element) + 5 > columns) return false;
    line += (shown++ == 0 ? "" : ", ") + element;
    return true;
  };
  if (array.element_type == gguf::ValueType::string) {
    MU_TRY(gguf::visit_strings(*file.source, file.document, array, [&](u64 index, std::string_view text, u64) {
      return index < most && append(in_quotes(escape(text, columns)));
    }));
  } else {
    MU_ASSIGN(const auto elements, gguf::read_values(*file.source, file.document, array, most));
    for (const gguf::Value& element : elements) {
      const auto* inner = std::get_if<gguf::ArrayRef>(&element);
      if (!append(inner != nullptr ? array_type_text(*inner) : scalar_text(listed_scalar(element)))) break;
    }
  }
  return line + (shown < array.count ? ", …]" : "]");
}

Status write_value(TextOutput& out, const ListedValue& value, bool for_terminal) {
  if (const auto* text = std::get_if<std::string_view>(&value)) {
    write_text(out, *text, for_terminal);
  } else if (const auto* array = std::get_if<ListedArray>(&value)) {
    ElementLines lines(out, for_terminal);
    return gguf::visit_array(*array->file->source, array->file->document, array->array, lines);
  } else {
    out << scalar_text(value) << "\n";
  }
  return {};
}

namespace {

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool ends_with_www(std::string_view text) {
  return text.size() >= 3 && std::ranges::all_of(text.substr(text.size() - 3), [](char c) { return (c | 32) == 'w'; });
}

// True if GitHub would create a link at this position: www.x, https://x, a@b, @name, #12.
bool is_in_link(std::string_view before, std::string_view from) {
  const auto next = [&](std::size_t i) { return i < from.size() ? from[i] : ' '; };
  switch (from.front()) {
    case '.': return ends_with_www(before);
    case ':': return next(1) == '/' && next(2) == '/';
    case '@': return is_letter_or_digit(next(1));
    case '#': return next(1) >= '0' && next(1) <= '9';
    default: return false;
  }
}

}  // namespace

// Some renderers look for links after they have replaced escapes and entities. Only a comment breaks up such text.
std::string markdown_text(std::string_view printable, std::string_view marks) {
  constexpr std::string_view nothing = "<!-- -->";
  std::string out;
  for (std::size_t i = 0; i < printable.size(); ++i) {
    const char c = printable[i];
    const bool is_link = is_in_link(printable.substr(0, i), printable.substr(i));
    const bool parts_behind = c == '@' || c == '#';
    if (is_link && !parts_behind) out += nothing;
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      default:
        if (marks.find(c) != marks.npos) out += '\\';
        out += c;
    }
    if (is_link && parts_behind) out += nothing;
  }
  return out;
}

}  // namespace modelutils
