#include <fmt/format.h>

#include "base/escape.h"
#include "gguf/parse.h"
#include "report/gguf_selection.h"

namespace modelutils {

namespace {

constexpr u64 elements_at_a_time = 4096;

// Text as it is; for a terminal escaped, but with its line feeds.
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

Status write_elements(const gguf::SetFile& file, const gguf::ArrayRef& array, bool for_terminal, TextOutput& out) {
  if (array.element_type == gguf::ValueType::string) {
    return gguf::visit_strings(*file.source, file.document, array, [&](u64, std::string_view text, u64) {
      if (for_terminal) {
        out << escape(text) << "\n";
      } else {
        out << text << "\n";
      }
      return !out.closed();
    });
  }
  json::Writer json(json::Writer::Style::compact, [&](std::string_view text) { out << text; });
  for (u64 next = 0; next < array.count && !out.closed();) {
    MU_ASSIGN(const auto values, gguf::read_values(*file.source, file.document, array, next, elements_at_a_time));
    if (values.empty()) break;
    next += values.size();
    for (const gguf::Value& value : values) {
      const auto* inner = std::get_if<gguf::ArrayRef>(&value);
      if (inner == nullptr) {
        out << scalar_text(value) << "\n";
        continue;
      }
      MU_TRY(write_array(json, file, *inner));
      json.end_line();
    }
    json.flush();
  }
  return {};
}

}  // namespace

Status dump_gguf_value(const gguf::SplitSet& set, const std::string& path, const std::string& key,
                       const GgufDumpOptions& options, TextOutput& out) {
  const gguf::SetFile& file = set.files.front();
  const gguf::KeyValue* found = file.document.find(key);
  if (found == nullptr) {
    for (const PseudoKey& pseudo : pseudo_keys(file.document)) {
      if (pseudo.name != key) continue;
      out << fmt::format("{}\n", pseudo.value);
      return {};
    }
    return input_error("key-not-found", "the file has no such key" + name_hint("key", key, each_key_name(set)),
                       gguf::where_key(key), {}, path);
  }
  if (const auto* text = std::get_if<std::string>(&found->value)) {
    write_text(out, *text, options.for_terminal);
  } else if (const auto* array = std::get_if<gguf::ArrayRef>(&found->value)) {
    return write_elements(file, *array, options.for_terminal, out);
  } else {
    out << scalar_text(found->value) << "\n";
  }
  return {};
}

}  // namespace modelutils
