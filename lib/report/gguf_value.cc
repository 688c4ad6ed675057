#include <fmt/format.h>

#include "base/escape.h"
#include "report/gguf_selection.h"

namespace modelutils {

namespace {

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

// One element per line: scalars and strings raw, inner arrays as JSON.
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
    out_ << scalar_text(value) << "\n";
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
    ElementLines lines(out, options.for_terminal);
    return gguf::visit_array(*file.source, file.document, *array, lines);
  } else {
    out << scalar_text(found->value) << "\n";
  }
  return {};
}

}  // namespace modelutils
