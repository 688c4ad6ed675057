#include "report/listing_forms.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <tuple>

#include "arch/key_facts.h"
#include "base/escape.h"
#include "base/text.h"
#include "base/utf8.h"
#include "report/key_text.h"
#include "report/layer_grid.h"
#include "report/table.h"
#include "tensor/types.h"

namespace modelutils {

std::span<const ListingForm> listing_forms() {
  static constexpr ListingForm forms[] = {
      {.flag = "",
       .help = "",
       .write = write_listing_text,
       .write_json = write_listing_json,
       .is_for_people = true,
       .shows_token_texts = true},
      {.flag = "--summary",
       .help = "Only the summary, without the tables; with --json: the summary and the layers, as one object",
       .write = write_listing_summary,
       .write_json = write_listing_card,
       .is_for_people = true,
       .shows_token_texts = true},
      {.flag = "--jsonl",
       .help = "The tensor table as JSON, one object per line",
       .write = write_listing_jsonl,
       .is_about_tensors = true},
      {.flag = "--csv", .help = "The tensor table as CSV", .write = write_listing_csv, .is_about_tensors = true},
      {.flag = "--markdown",
       .help = "Keys and tensors as Markdown tables",
       .write = write_listing_markdown,
       .is_for_people = true},
      {.flag = "--layers",
       .help = "A grid of layers × roles with the tensor type in each cell; equal layers share a row",
       .write = write_listing_layers,
       .is_for_people = true,
       .is_about_tensors = true},
      {.flag = "--textconv",
       .help = "One line per key and tensor, without paths or offsets, for git's textconv and for diff",
       .write = write_listing_textconv},
      {.flag = "--data-offset",
       .help = "Only the offset at which this file's tensor data begins",
       .write = write_data_offset,
       .is_of_gguf = true},
      {.flag = "--data-alignment",
       .help = "Only the alignment of this file's tensor data",
       .write = write_data_alignment,
       .is_of_gguf = true},
  };
  return forms;
}

Status write_data_offset(TextOutput& out, const Listing& listing, const ListingOptions&) {
  // A truncated header has no data offset; the error reports that.
  if (const auto offset = listing.files[listing.named_file].data_offset) out << fmt::format("{}\n", *offset);
  return {};
}

Status write_data_alignment(TextOutput& out, const Listing& listing, const ListingOptions&) {
  out << fmt::format("{}\n", listing.files[listing.named_file].alignment);
  return {};
}

const std::string& shown_file(const Listing& listing, const ListedTensor& tensor, const ListingOptions& options) {
  const ListedFile& file = listing.files[tensor.stored->file];
  return options.several ? file.path : file.name;
}

bool shows_files(const Listing& listing, const ListingOptions& options) {
  return listing.is_split() || options.several;
}

namespace {

constexpr std::size_t min_value_columns = 24;
constexpr std::size_t preview_columns = 100;  // used if the terminal's width is unknown
constexpr std::size_t min_name_columns = 36;  // enough for layer and role in most names; other columns are dropped
                                              // first

void set(Cell& cell, std::string text, Paint paint) {
  cell.text = std::move(text);
  cell.paint = paint;
}

// Returns the cell's text, emptied but with its memory kept from the previous row.
std::string& begin(Cell& cell, Paint paint) {
  cell.text.clear();
  cell.paint = paint;
  return cell.text;
}

void set_escaped(Cell& cell, std::string_view text, Paint paint) {
  append_escaped(begin(cell, paint), text);
}

void append_or_unknown(Cell& cell, std::optional<u64> number, void (*append)(std::string&, u64), Paint paint) {
  std::string& text = begin(cell, paint);
  if (number) {
    append(text, *number);
  } else {
    text = "?";
  }
}

std::string module_form(const ListedModule& module) {
  // In the other forms the mode determines the symmetry.
  const bool may_be_either = module.mode == "integers" && module.symmetric;
  const std::string_view zeros = !may_be_either ? "" : *module.symmetric ? ", symmetric" : ", asymmetric";
  if (module.group_size > 0) {
    return fmt::format("{} {}-bit, group {}{}", module.mode, module.bits, module.group_size, zeros);
  }
  if (!module.mode.empty()) return fmt::format("{} {}-bit{}", module.mode, module.bits, zeros);
  return escape(module.type_name) + (module.quantized ? ", packed" : "");
}

Paint module_paint(const ListedModule& module) {
  if (!module.mode.empty()) return bits_paint(static_cast<double>(module.bits));
  return module.quantized ? Paint::bad : type_paint(module.type);
}

// Sort key: names outside all layers first, then by layer, then by name.
auto people_order(std::string_view name) {
  const std::optional<LayerName> layer = parse_layer_name(name);
  return std::tuple(layer ? layer->prefix : std::string_view{}, layer ? layer->layer : 0U, layer ? layer->role : name);
}

template <typename NameAt>
std::vector<u32> ordered(std::size_t size, bool by_name, NameAt&& name_at) {
  std::vector<u32> order(size);
  std::iota(order.begin(), order.end(), 0U);
  if (!by_name) return order;
  std::vector<decltype(people_order({}))> keys(size);
  for (std::size_t i = 0; i < size; ++i) keys[i] = people_order(name_at(i));
  std::ranges::stable_sort(order, [&](u32 a, u32 b) { return keys[a] < keys[b]; });
  return order;
}

}  // namespace

ListingTables::ListingTables(TextOutput& out, const Listing& listing, const ListingOptions& options, bool& wrote)
    : out_(out), listing_(listing), options_(options), style_(options.color), wrote_(wrote) {}

void ListingTables::heading(std::string_view what, u64 listed, u64 all) {
  if (wrote_) out_ << "\n";
  wrote_ = true;
  const std::string count = listed == all ? thousands(all) : fmt::format("{} of {}", thousands(listed), thousands(all));
  out_ << style_(Paint::title, what) << " " << style_(Paint::faint, count) << "\n";
}

void ListingTables::write_files() {
  heading("Files", listing_.files.size(), listing_.files.size());
  const auto row = [&](std::size_t i, std::vector<Cell>& cells) {
    const ListedFile& file = listing_.files[i];
    set_escaped(cells[0], file.name, Paint::plain);
    set(cells[1], thousands(file.tensors), Paint::plain);
    set(cells[2], byte_text(file.header_bytes), Paint::faint);
    set(cells[3], file.size ? byte_text(*file.size) : "?", Paint::plain);
  };
  write_table(out_,
              {{"name", Align::left, min_name_columns, 0, 0, true},
               {"tensors", Align::right},
               {"header", Align::right, 0, 1},
               {"size", Align::right}},
              listing_.files.size(), row, {options_.width, 2, true, style_});
}

// Returns the width that the key table leaves for values.
std::size_t ListingTables::value_columns() const {
  if (options_.width == 0) return preview_columns;
  std::size_t key_columns = 0;
  std::size_t type_columns = 0;
  for (const ListedKey& key : listing_.keys) {
    key_columns = std::max(key_columns, display_width(escape(key.name)));
    type_columns = std::max(type_columns, display_width(key_type_text(key)));
  }
  const std::size_t used = 2 + key_columns + 2 + type_columns + 2;
  return used + min_value_columns < options_.width ? options_.width - used : min_value_columns;
}

Status ListingTables::write_keys() {
  heading("Keys", listing_.keys.size(), listing_.key_count);
  if (listing_.keys.empty()) return {};
  const std::size_t budget = value_columns();
  Status status;
  std::vector<std::string> values;  // each array is read once, in file order
  values.reserve(listing_.keys.size());
  for (const ListedKey& key : listing_.keys) {
    Result<std::string> value = preview(key.value, budget);
    if (!value && status) status = tl::make_unexpected(value.error());
    values.push_back(value ? std::move(*value) : std::string("?"));
    for (const NamedToken& token : listing_.facts.tokens) {
      if (token.key == key.name) values.back() += " " + escape(token.text, budget);
    }
    shortened_ = shortened_ || values.back().ends_with("…") || values.back().ends_with("…]");
  }
  const bool explains = options_.explains && listing_.format == Listing::Format::gguf;
  const auto row = [&](std::size_t i, std::vector<Cell>& cells) {
    const ListedKey& key = listing_.keys[i];
    const bool is_text = std::holds_alternative<std::string_view>(key.value);
    const bool is_array = std::holds_alternative<ListedArray>(key.value);
    set_escaped(cells[0], key.name, Paint::label);
    set(cells[1], key_type_text(key), Paint::faint);
    set(cells[2], values[i], is_text ? Paint::text : is_array ? Paint::plain : Paint::number);
    if (!explains) return;
    const arch::KeyFacts* facts = arch::find_key_facts(key.name, listing_.facts.architecture);
    set(cells[3], facts == nullptr ? std::string() : std::string(facts->means), Paint::faint);
  };
  std::vector<Column> columns = {{"key", Align::left, 28, 0, 0, true},
                                 {"type", Align::left, 0, 1, 0},
                                 {"value", Align::left, min_value_columns, 0, 1}};
  if (explains) columns.push_back({"meaning", Align::left, 0, 2, 0});
  write_table(out_, columns, listing_.keys.size(), row, {options_.width, 2, false, style_});
  return status;
}

void ListingTables::write_modules() {
  const std::vector<ListedModule>& modules = listing_.modules;
  heading("Modules", modules.size(), listing_.module_count);
  if (modules.empty()) return;
  const std::vector<u32> order =
      ordered(modules.size(), listing_.is_unordered, [&](std::size_t i) { return modules[i].path; });
  const auto row = [&](std::size_t i, std::vector<Cell>& cells) {
    const ListedModule& module = modules[order[i]];
    set_escaped(cells[0], module.path, Paint::plain);
    set(cells[1], module_form(module), module_paint(module));
    set(cells[2], shape_text(module.shape), Paint::plain);
    set(cells[3], module.parameters ? count_text(*module.parameters) : "?", Paint::plain);
    set(cells[4], byte_text(module.bytes), Paint::plain);
  };
  write_table(out_,
              {{"name", Align::left, min_name_columns, 0, 0, true},
               {"type", Align::left},
               {"shape", Align::left, 0, 2},
               {"params", Align::right, 0, 3},
               {"size", Align::right, 0, 1}},
              modules.size(), row, {options_.width, 2, true, style_});
}

void ListingTables::write_tensors() {
  const std::vector<ListedTensor>& tensors = listing_.tensors;
  heading("Tensors", tensors.size(), listing_.tensor_count);
  if (tensors.empty()) return;
  const std::vector<u32> order =
      ordered(tensors.size(), listing_.is_unordered, [&](std::size_t i) { return tensors[i].name(); });
  const auto row = [&](std::size_t i, std::vector<Cell>& cells) {
    const ListedTensor& tensor = tensors[order[i]];
    append_number(begin(cells[0], Paint::faint), tensor.index);
    set_escaped(cells[1], tensor.name(), Paint::plain);
    set_escaped(cells[2], tensor.type_name, style_.color() ? type_paint(tensor.type()) : Paint::plain);
    append_shape_text(begin(cells[3], Paint::plain), tensor.shape());
    append_or_unknown(cells[4], tensor.parameters, append_count_text, Paint::plain);
    append_or_unknown(cells[5], tensor.bytes(), append_byte_text, tensor.bytes() ? Paint::plain : Paint::bad);
    append_or_unknown(cells[6], tensor.data_offset(), append_thousands, Paint::faint);
    if (listing_.is_split()) set_escaped(cells[7], listing_.files[tensor.stored->file].name, Paint::faint);
  };
  std::vector<Column> columns = {
      {"#", Align::right, 0, 5},           {"name", Align::left, min_name_columns, 0, 0, true},
      {"type", Align::left, 0, 0},         {"shape", Align::left, 0, 0},
      {"params", Align::right, 0, 4},      {"size", Align::right, 0, 2},
      {"data at byte", Align::right, 0, 6}};
  if (listing_.is_split()) columns.push_back({"file", Align::left, 16, 7, 0, true});
  write_table(out_, columns, tensors.size(), row, {options_.width, 2, true, style_});
}

namespace {

void append_if_any(std::string& line, std::optional<u64> number) {
  line += ',';
  if (number) append_number(line, *number);
}

// Nearly all names consist of letters, digits, dots and the like and need neither escapes nor quotes.
void append_field(std::string& line, std::string_view text) {
  const auto is_plain = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '.' || c == '_' ||
           c == '-';
  };
  line += ',';
  if (!text.starts_with('-') && std::ranges::all_of(text, is_plain)) {
    line += text;
  } else {
    line += csv_field(text);
  }
}

}  // namespace

Status write_listing_csv(TextOutput& out, const Listing& listing, const ListingOptions& options) {
  const bool with_file = shows_files(listing, options);
  if (options.first) {
    out << "index,name,type,shape,parameters,bytes,offset,data_offset" << (with_file ? ",file\n" : "\n");
  }
  std::string line;
  for (const ListedTensor& tensor : listing.tensors) {
    line.clear();
    append_number(line, tensor.index);
    append_field(line, tensor.name());
    append_field(line, tensor.type_name);
    char separator = ',';
    for (const u64 dim : tensor.shape()) {
      line += separator;
      append_number(line, dim);
      separator = 'x';
    }
    if (tensor.shape().empty()) line += ',';
    append_if_any(line, tensor.parameters);
    append_if_any(line, tensor.bytes());
    append_if_any(line, tensor.offset());
    append_if_any(line, tensor.data_offset());
    if (with_file) append_field(line, shown_file(listing, tensor, options));
    line += '\n';
    out << line;
  }
  return {};
}

}  // namespace modelutils
