#include "report/key_text.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/escape.h"
#include "base/numbers.h"
#include "base/utf8.h"
#include "gguf/value_names.h"
#include "listing/gguf_listing.h"
#include "report/json_value.h"

namespace modelutils {

namespace {

using gguf::short_type_name;

std::string array_type_text(const gguf::ArrayRef& array) {
  return fmt::format("{}[{}]", short_type_name(array.element_type), thousands(array.count));
}

// Returns escaped text in quotes. Escaping leaves no lone backslash, so a quote in the text cannot be mistaken for its
// end.
std::string quoted(std::string_view text) {
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
      return index < most && append(quoted(escape(text, columns)));
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

}  // namespace modelutils
