#include <fmt/format.h>

#include <algorithm>

#include "base/counted.h"
#include "base/escape.h"
#include "base/path.h"
#include "base/utf8.h"
#include "model/gguf_summary.h"
#include "report/gguf_selection.h"
#include "report/numbers.h"
#include "report/style.h"
#include "report/table.h"
#include "tensor/shape.h"

namespace modelutils {

namespace {

constexpr std::size_t label_columns = 14;
constexpr std::size_t min_value_columns = 24;
constexpr std::size_t columns_elsewhere = 100;  // where no terminal says how wide it is

class TextDump {
 public:
  TextDump(const gguf::SplitSet& set, const std::string& path, const GgufDumpOptions& options, TextOutput& out)
      : set_(set), path_(path), options_(options), out_(out), style_(options.color) {}

  Status run() {
    const bool has_counts = pseudo_keys(first()).size() == 3;  // else the header breaks off before keys and tensors
    const bool only_some = !options_.key_globs.empty() || !options_.tensor_globs.empty();
    if (!only_some) {
      write_summary(summarize(set_));
      wrote_ = true;
    } else if (options_.several) {
      out_ << style_(Paint::title, escape(path_)) << "\n";
      wrote_ = true;
    }
    if (has_counts && (!only_some || !options_.key_globs.empty())) MU_TRY(write_keys());
    if (has_counts && options_.tensors && (!only_some || !options_.tensor_globs.empty())) write_tensors();
    write_notes();
    return {};
  }

 private:
  const gguf::Document& first() const { return set_.files.front().document; }

  // "  label         one · another", broken between facts where the terminal ends.
  void fact(std::string_view label, const std::vector<std::string>& facts) {
    std::string line = "  " + style_(Paint::label, label);
    line.append(label_columns - std::min(label.size(), label_columns - 1), ' ');
    std::size_t column = 2 + label_columns;
    bool is_first = true;
    for (const std::string& text : facts) {
      if (text.empty()) continue;
      const std::size_t columns = width_without_color(text);
      if (!is_first) {
        if (options_.width > 0 && column + 3 + columns > options_.width) {
          line += '\n';
          line.append(2 + label_columns, ' ');
          column = 2 + label_columns;
        } else {
          line += faint(" · ");
          column += 3;
        }
      }
      line += text;
      column += columns;
      is_first = false;
    }
    if (!is_first) out_ << line << "\n";
  }

  static std::size_t width_without_color(std::string_view text) {
    std::size_t columns = 0;
    while (!text.empty()) {
      const std::size_t escape_at = text.find('\033');
      columns += display_width(text.substr(0, escape_at));
      if (escape_at == std::string_view::npos) break;
      text.remove_prefix(std::min(text.size(), text.find('m', escape_at) + 1));
    }
    return columns;
  }

  std::string faint(const std::string& text) const { return style_(Paint::faint, text); }
  static std::string range_text(const std::optional<Range>& range) {
    if (!range) return {};
    return range->low == range->high ? thousands(range->low)
                                     : fmt::format("{}–{}", thousands(range->low), thousands(range->high));
  }

  void write_summary(const GgufSummary& summary) {
    const std::string shown_path = path_ == "-" ? "standard input" : path_;
    const std::string title = summary.name.empty() ? base_name_of(shown_path) : summary.name;
    out_ << style_(Paint::title, escape(title, options_.width > 0 ? options_.width : columns_elsewhere));
    if (const auto part = gguf::lone_part(set_)) out_ << fmt::format(" (part {} of {})", part->number, part->count);
    out_ << "\n";
    std::string file = escape(shown_path);
    if (set_.is_split()) file += fmt::format(" and the others of its {} files", set_.files.size());
    std::string format = "GGUF";
    if (!pseudo_keys(first()).empty()) format += fmt::format(" v{}", first().version);
    if (first().big_endian) format += ", big-endian";
    fact("file", {file, faint(format), summary.file_size ? byte_text(*summary.file_size) : faint("size not known")});
    write_architecture(summary);
    write_parameters(summary);
    write_layout(summary);
  }

  void write_architecture(const GgufSummary& summary) {
    std::vector<std::string> facts = {escape(summary.architecture)};
    if (summary.layers) facts.push_back(thousands(*summary.layers) + (*summary.layers == 1 ? " layer" : " layers"));
    if (summary.embedding) facts.push_back("width " + thousands(*summary.embedding));
    if (summary.feed_forward) facts.push_back("feed-forward " + range_text(summary.feed_forward));
    if (summary.experts.value_or(0) > 0) {
      facts.push_back(thousands(*summary.experts) + " experts" +
                      (summary.experts_used ? fmt::format(" ({} used)", *summary.experts_used) : ""));
    }
    fact("architecture", facts);
    if (summary.heads) {
      std::string heads = range_text(summary.heads) + " query";
      if (summary.heads_kv) heads += ", " + range_text(summary.heads_kv) + " KV";
      if (summary.head_dim) heads += ", size " + thousands(*summary.head_dim);
      fact("heads", {heads});
    }
    if (summary.context) fact("context", {thousands(*summary.context) + " tokens"});
    if (summary.vocabulary) {
      std::string kind = escape(summary.tokenizer, 32);
      if (!summary.tokenizer_pre.empty()) kind += (kind.empty() ? "" : ", ") + escape(summary.tokenizer_pre, 32);
      fact("vocabulary", {thousands(*summary.vocabulary) + " tokens", faint(kind)});
    }
  }

  void write_parameters(const GgufSummary& summary) {
    if (summary.tensors == 0) return;
    if (summary.parameters) {
      std::string bits;
      if (summary.bits_per_weight) bits = bits_text(*summary.bits_per_weight) + " bits per weight";
      fact("parameters", {count_text(*summary.parameters),
                          *summary.parameters >= 1000 ? faint(thousands(*summary.parameters)) : "", bits});
    }
    std::vector<const TypeTotal*> types;
    for (const TypeTotal& total : summary.types) types.push_back(&total);
    std::ranges::stable_sort(
        types, [](const TypeTotal* a, const TypeTotal* b) { return a->bytes.value_or(0) > b->bytes.value_or(0); });
    std::vector<std::string> facts;
    constexpr std::size_t most = 12;
    for (std::size_t i = 0; i < types.size() && i < most; ++i) {
      const TypeTotal& total = *types[i];
      std::string share = "size unknown";
      if (total.bytes && summary.tensor_bytes && *summary.tensor_bytes > 0) {
        const double percent = 100.0 * static_cast<double>(*total.bytes) / static_cast<double>(*summary.tensor_bytes);
        share = percent > 0 && percent < 0.1 ? "<0.1%" : fmt::format("{:.1f}%", percent);
      } else if (total.bytes) {
        share = byte_text(*total.bytes);
      }
      const std::string mix = i == 0 && !summary.mix.empty() ? escape(summary.mix) + ": " : "";
      facts.push_back(fmt::format("{}{} {}{}", mix, style_(type_paint(total.type), total.name), share,
                                  faint(fmt::format(" ({})", thousands(total.tensors)))));
    }
    if (types.size() > most) facts.push_back(fmt::format("and {} more types", types.size() - most));
    fact("quantisation", facts);
  }

  void write_layout(const GgufSummary& summary) {
    std::vector<std::string> facts;
    if (first().complete) {
      facts.push_back(fmt::format("header {}", byte_text(first().header_end)));
      facts.push_back(fmt::format("data from byte {}", thousands(first().data_offset)));
    } else {
      facts.push_back(style_(Paint::bad, "header not complete"));
    }
    facts.push_back(fmt::format("aligned to {}", thousands(first().alignment)));
    if (summary.tensor_bytes && summary.tensors > 0) facts.push_back("tensors " + byte_text(*summary.tensor_bytes));
    fact("layout", facts);
  }

  void heading(std::string_view what, u64 listed, u64 all) {
    if (wrote_) out_ << "\n";
    wrote_ = true;
    out_ << style_(Paint::title, what) << " ";
    out_ << faint(listed == all ? thousands(all) : fmt::format("{} of {}", thousands(listed), thousands(all))) << "\n";
  }

  // Columns that the key table leaves for values.
  std::size_t value_columns(const std::vector<SelectedKey>& keys) const {
    if (options_.width == 0) return columns_elsewhere;
    std::size_t key_columns = 0;
    std::size_t type_columns = 0;
    for (const SelectedKey& selected : keys) {
      key_columns = std::max(key_columns, display_width(escape(selected.key->key)));
      type_columns = std::max(type_columns, display_width(key_type_text(selected.key->value)));
    }
    const std::size_t used = 2 + key_columns + 2 + type_columns + 2;
    return used + min_value_columns < options_.width ? options_.width - used : min_value_columns;
  }

  Status write_keys() {
    const std::vector<SelectedKey> keys = select_keys(set_, options_);
    heading("Keys", keys.size(), first().kv_count);
    if (keys.empty()) return {};
    const std::size_t budget = value_columns(keys);
    Status status;
    const auto row = [&](std::size_t i, std::vector<Cell>& cells) {
      const gguf::KeyValue& key = *keys[i].key;
      auto value = preview(set_.files.front(), key.value, budget);
      if (!value && status) status = tl::make_unexpected(value.error());
      const bool is_text = std::holds_alternative<std::string>(key.value);
      const bool is_array = std::holds_alternative<gguf::ArrayRef>(key.value);
      cells[0] = {escape(key.key), Paint::label};
      cells[1] = {key_type_text(key.value), Paint::faint};
      cells[2] = {value ? std::move(*value) : std::string("?"), is_text    ? Paint::text
                                                                : is_array ? Paint::plain
                                                                           : Paint::number};
      shortened_ = shortened_ || cells[2].text.ends_with("…") || cells[2].text.ends_with("…]");
    };
    write_table(out_,
                {{"key", Align::left, 16, 0, 0},
                 {"type", Align::left, 0, 1, 0},
                 {"value", Align::left, min_value_columns, 0, 1}},
                keys.size(), row, {options_.width, 2, false, style_});
    return status;
  }

  void write_tensors() {
    const std::vector<SelectedTensor> tensors = select_tensors(set_, options_);
    u64 all = 0;
    for (const gguf::SetFile& file : set_.files) all += file.document.tensor_count;
    heading("Tensors", tensors.size(), all);
    if (tensors.empty()) return;
    const auto row = [&](std::size_t i, std::vector<Cell>& cells) {
      const gguf::TensorInfo& tensor = *tensors[i].tensor;
      const auto elements = tensor.elements();
      const auto bytes = tensor.bytes();
      const auto offset = data_offset_of(tensors[i]);
      cells[0] = {fmt::format("{}", tensors[i].index), Paint::faint};
      cells[1] = {escape(tensor.name), Paint::plain};
      cells[2] = {gguf_type_text(tensor), type_paint(tensor.type())};
      cells[3] = {shape_text(tensor.ne), Paint::plain};
      cells[4] = {elements ? count_text(*elements) : "?", Paint::plain};
      cells[5] = {bytes ? byte_text(*bytes) : "?", bytes ? Paint::plain : Paint::bad};
      cells[6] = {offset ? thousands(*offset) : "?", Paint::faint};
      if (set_.is_split()) cells[7] = {escape(base_name_of(tensors[i].file->path)), Paint::faint};
    };
    std::vector<Column> columns = {{"#", Align::right, 0, 5},           {"name", Align::left, 20, 0},
                                   {"type", Align::left, 0, 0},         {"shape", Align::left, 0, 0},
                                   {"params", Align::right, 0, 4},      {"size", Align::right, 0, 2},
                                   {"data at byte", Align::right, 0, 6}};
    if (set_.is_split()) columns.push_back({"file", Align::left, 16, 7});
    write_table(out_, columns, tensors.size(), row, {options_.width, 2, true, style_});
  }

  void write_notes() {
    if (!shortened_) return;
    constexpr std::string_view one = "… stands for more: --get KEY prints one value in full,";
    constexpr std::string_view all = "--json --json-array all of them.";
    const bool fits = options_.width == 0 || options_.width > display_width(one) + 1 + display_width(all);
    out_ << "\n" << style_(Paint::faint, one) << (fits ? " " : "\n") << style_(Paint::faint, all) << "\n";
  }

  const gguf::SplitSet& set_;
  const std::string& path_;
  const GgufDumpOptions& options_;
  TextOutput& out_;
  Style style_;
  bool shortened_ = false;
  bool wrote_ = false;
};

}  // namespace

Status dump_gguf_text(const gguf::SplitSet& set, const std::string& path, const GgufDumpOptions& options,
                      TextOutput& out) {
  return TextDump(set, path, options, out).run();
}

}  // namespace modelutils
