#include "edit/operation.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/byte_reader.h"
#include "base/not_found.h"
#include "base/parse_number.h"
#include "formats/gguf/document.h"
#include "io/random_access_file.h"
#include "json/reader.h"

namespace modelutils::edit {

namespace {

constexpr std::array actions = {
    EditActionInfo{EditAction::set, "set", "KEY=VALUE",
                   "Set a key, keeping its type; a new key needs KEY:TYPE=VALUE with a type as gguf-dump prints it "
                   "(u32, f32, bool, string, …); an array (string[]) takes a JSON value"},
    EditActionInfo{EditAction::set_from, "set-from", "KEY=FILE",
                   "Set a key to a file's text (without the final line feed), an array to its lines"},
    EditActionInfo{EditAction::set_token, "set-token", "ROLE=TEXT",
                   "Assign token TEXT to a role: bos, eos, eot, eom, unk, sep, pad, cls, mask, fim_pre, fim_suf, "
                   "fim_mid, fim_pad, fim_rep, fim_sep"},
    EditActionInfo{EditAction::delete_keys, "delete", "GLOB", "Delete matching keys", "--unset"},
    EditActionInfo{EditAction::rename_key, "rename", "OLD=NEW", "Rename a key (in st-edit, --rename renames tensors)"},
    EditActionInfo{EditAction::copy_keys, "copy-keys-from", "OTHER.gguf GLOB", "Copy matching keys from another model"},
    EditActionInfo{EditAction::rename_tensor, "rename-tensor", "OLD=NEW", "Rename a tensor"},
    EditActionInfo{EditAction::drop_tensors, "drop-tensor", "GLOB", "Drop matching tensors", "--drop"},
    EditActionInfo{EditAction::align, "align", "N", "Align the tensor data to N bytes, a power of two"},
    EditActionInfo{EditAction::upgrade, "upgrade", "", "Write GGUF version 3 where the input is version 2"},
    EditActionInfo{EditAction::extract_mtp, "extract-mtp", "",
                   "Keep only the multi-token prediction (MTP) blocks and the tensors they share with the model"},
    EditActionInfo{EditAction::graft_mtp, "graft-mtp", "ONLY.gguf", "Add the MTP blocks of another file to the model"},
    EditActionInfo{EditAction::drop_layers, "drop-layers", "LIST",
                   "Drop whole layers (20-27,30), renumber the rest and update the counts"},
    EditActionInfo{EditAction::keep_experts, "keep-experts", "LIST|FILE",
                   "Keep only these experts (0-31,40) in each layer, or those listed in a file with lines LAYER: LIST"},
    EditActionInfo{EditAction::script, "script", "FILE", "Read operations from a file, one per line: set KEY=VALUE"},
};

constexpr std::string_view blanks = " \t";

std::string_view trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

tl::unexpected<Error> unknown_operation(std::string_view name, const std::string& place) {
  ClosestName closest(name);
  for (const EditActionInfo& info : actions) closest.offer(info.name);
  return usage_error(fmt::format("{}: unknown operation '{}'{}", place, name, closest.hint()));
}

Result<EditOperation> parse_line(std::string_view line, const std::string& place) {
  line.remove_prefix(line.find_first_not_of(blanks));
  const std::size_t end = std::min(line.find_first_of(blanks), line.size());
  std::string_view name = line.substr(0, end);
  std::string_view rest = line.substr(end);
  rest.remove_prefix(std::min(rest.find_first_not_of(blanks), rest.size()));
  if (name.starts_with("--")) name.remove_prefix(2);
  const auto info = std::find_if(actions.begin(), actions.end(), [&](const auto& row) { return row.name == name; });
  if (info == actions.end()) return unknown_operation(name, place);
  if (info->action == EditAction::script) return usage_error(place + ": a script cannot name another script");
  EditOperation operation{info->action, {}, place};
  if (info->operand_count() == 2) {
    const std::string_view both = trim(rest);
    const std::size_t gap = both.find_last_of(blanks);
    if (gap == std::string_view::npos) return usage_error(fmt::format("{}: {} needs {}", place, name, info->operands));
    operation.operands = {std::string(trim(both.substr(0, gap))), std::string(both.substr(gap + 1))};
  } else if (info->operand_count() == 1) {
    if (rest.empty()) return usage_error(fmt::format("{}: {} needs {}", place, name, info->operands));
    operation.operands = {std::string(rest)};
  } else if (!trim(rest).empty()) {
    return usage_error(fmt::format("{}: {} takes no value", place, name));
  }
  return operation;
}

}  // namespace

std::size_t EditActionInfo::operand_count() const {
  if (operands.empty()) return 0;
  return operands.find(' ') == std::string_view::npos ? 1 : 2;
}

std::span<const EditActionInfo> edit_actions() {
  return actions;
}

const EditActionInfo& edit_action_info(EditAction action) {
  return *std::find_if(actions.begin(), actions.end(), [&](const auto& row) { return row.action == action; });
}

std::string EditOperation::where() const {
  const std::string option = fmt::format("--{}", edit_action_info(action).name);
  return place.empty() ? option : fmt::format("{} ({})", option, place);
}

Result<std::vector<EditOperation>> parse_edit_script(std::string_view text, const std::string& name) {
  std::vector<EditOperation> operations;
  for (u64 number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::string_view content = trim(line);
    if (content.empty() || content.front() == '#') continue;
    MU_ASSIGN(EditOperation operation, parse_line(line, fmt::format("line {} of {}", number, name)));
    operations.push_back(std::move(operation));
  }
  return operations;
}

Result<std::vector<EditOperation>> expand_scripts(std::vector<EditOperation> operations) {
  std::vector<EditOperation> expanded;
  for (EditOperation& operation : operations) {
    if (operation.action != EditAction::script) {
      expanded.push_back(std::move(operation));
      continue;
    }
    const std::string& path = operation.operands.front();
    MU_ASSIGN(const std::string text, read_operand_file(path));
    MU_ASSIGN(std::vector<EditOperation> lines, parse_edit_script(text, path == "-" ? "standard input" : path));
    expanded.insert(expanded.end(), std::make_move_iterator(lines.begin()), std::make_move_iterator(lines.end()));
  }
  return expanded;
}

Result<std::string> read_operand_file(const std::string& path) {
  constexpr u64 most = u64{256} << 20;
  constexpr std::size_t step = std::size_t{1} << 20;
  MU_ASSIGN(const std::shared_ptr<ByteSource> source, open_source(path));
  std::string text;
  while (true) {
    const std::size_t before = text.size();
    text.resize(before + step);
    MU_ASSIGN(const std::size_t got,
              source->read_some(before, std::as_writable_bytes(std::span(text)).subspan(before)));
    text.resize(before + got);
    if (got == 0) return text;
    if (text.size() > most) {
      return input_error("edit-file-size", fmt::format("is larger than {} bytes", most), {}, {}, source->name());
    }
  }
}

namespace {

using gguf::ValueType;

template <typename T>
std::string range_of() {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::is_floating_point_v<T>) {
    return fmt::format("{:.3g} to {:.3g}", Limits::lowest(), Limits::max());
  } else {
    return fmt::format("{} to {}", +Limits::min(), +Limits::max());
  }
}

// Returns a description of the texts accepted for the type.
template <typename T>
std::string accepted() {
  return std::is_floating_point_v<T> ? "a number such as 0.5, 1e-5, nan or inf" : range_of<T>();
}

tl::unexpected<Error> not_a(ValueType type, std::string_view text, std::string_view wanted) {
  constexpr std::size_t shown = 40;
  const std::string value(text.substr(0, shown));
  return usage_error(fmt::format("{} takes {}, not '{}{}'", gguf::short_type_name(type), wanted, value,
                                 text.size() > shown ? "…" : ""));
}

template <typename T>
Status put_number(std::string& out, ValueType type, std::string_view text) {
  std::string_view digits = text;
  if (digits.starts_with('+')) digits.remove_prefix(1);
  T value{};
  const auto [end, error] = number_from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool is_whole = end == digits.data() + digits.size() && !digits.starts_with('+');
  if (is_whole && error == std::errc::result_out_of_range) {
    return usage_error(fmt::format("'{}' is outside {} ({})", text, gguf::short_type_name(type), range_of<T>()));
  }
  if (!is_whole || error != std::errc()) return not_a(type, text, accepted<T>());
  put(out, value);
  return {};
}

Status put_scalar(std::string& out, ValueType type, std::string_view text) {
  switch (type) {
    case ValueType::u8: return put_number<u8>(out, type, text);
    case ValueType::i8: return put_number<i8>(out, type, text);
    case ValueType::u16: return put_number<u16>(out, type, text);
    case ValueType::i16: return put_number<i16>(out, type, text);
    case ValueType::u32: return put_number<u32>(out, type, text);
    case ValueType::i32: return put_number<i32>(out, type, text);
    case ValueType::f32: return put_number<float>(out, type, text);
    case ValueType::u64: return put_number<u64>(out, type, text);
    case ValueType::i64: return put_number<i64>(out, type, text);
    case ValueType::f64: return put_number<double>(out, type, text);
    case ValueType::boolean:
      if (text != "true" && text != "false") return not_a(type, text, "true or false");
      put<u8>(out, text == "true" ? 1 : 0);
      return {};
    case ValueType::string: put_text(out, text); return {};
    case ValueType::array: break;
  }
  return internal_error("an array inside an array");
}

// Encodes an element of a JSON array. Numbers are passed as text, so that each type checks its own limits. "NaN" and
// "Infinity" are strings, as in gguf-dump's JSON.
Status put_element(std::string& out, ValueType type, json::Element element) {
  std::string_view text;
  const bool is_text = element.get(text);
  const bool is_float = type == ValueType::f32 || type == ValueType::f64;
  if (type == ValueType::string && !is_text) return not_a(type, element.text(), "a string in quotes");
  if (is_text && type != ValueType::string && !is_float) {
    return not_a(type, element.text(), type == ValueType::boolean ? "true or false" : "a number without quotes");
  }
  if (is_text) return put_scalar(out, type, text);
  return put_scalar(out, type, element.text());
}

void put_array_head(std::string& out, ValueType elements, u64 count) {
  put<u32>(out, static_cast<u32>(elements));
  put<u64>(out, count);
}

}  // namespace

std::string EditType::text() const {
  if (type != ValueType::array) return std::string(gguf::short_type_name(type));
  return fmt::format("{}[]", gguf::short_type_name(elements));
}

std::optional<EditType> edit_type_from_name(std::string_view name) {
  const bool is_array = name.ends_with("[]");
  if (is_array) name.remove_suffix(2);
  const std::optional<ValueType> type = gguf::type_from_short_name(name);
  if (!type || *type == ValueType::array) return std::nullopt;
  if (is_array) return EditType{ValueType::array, *type};
  return EditType{*type, {}};
}

std::optional<EditType> edit_type_of(const gguf::OutKey& key) {
  if (key.type != ValueType::array) return EditType{key.type, {}};
  u32 id = 0;
  std::memcpy(&id, key.encoded.data(), sizeof id);
  const std::optional<ValueType> elements = gguf::value_type_from_id(id);
  if (!elements || *elements == ValueType::array) return std::nullopt;
  return EditType{ValueType::array, *elements};
}

Result<std::string> encode_value(const EditType& type, std::string_view text) {
  std::string out;
  if (type.type != ValueType::array) {
    MU_TRY(put_scalar(out, type.type, text));
    return out;
  }
  const auto document = json::parse(text, "the value");
  json::Array array;
  if (!document || !(*document)->root.get(array)) {
    return usage_error(fmt::format("{} takes a JSON array such as [1, 2]{}", type.text(),
                                   document ? "" : ": " + document.error().message));
  }
  u64 count = 0;
  std::string elements;
  for (const json::Element element : array) {
    MU_TRY(put_element(elements, type.elements, element));
    ++count;
  }
  put_array_head(out, type.elements, count);
  return out + elements;
}

Result<std::string> encode_file_text(const EditType& type, std::string_view text) {
  const bool is_empty = text.empty();
  if (text.ends_with('\n')) text.remove_suffix(1);
  std::string out;
  if (type.type != ValueType::array) {
    MU_TRY(put_scalar(out, type.type, text));
    return out;
  }
  u64 count = 0;
  std::string elements;
  for (bool more = !is_empty; more; ++count) {
    const std::size_t end = text.find('\n');
    MU_TRY(put_scalar(elements, type.elements, text.substr(0, end)));
    more = end != std::string_view::npos;
    if (more) text.remove_prefix(end + 1);
  }
  put_array_head(out, type.elements, count);
  return out + elements;
}

}  // namespace modelutils::edit
