#include "report/gguf_selection.h"
#include "base/counted.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

#include "base/checked_math.h"
#include "base/escape.h"
#include "base/glob.h"
#include "base/path.h"
#include "base/utf8.h"
#include "gguf/parse.h"
#include "report/numbers.h"

namespace modelutils {

namespace {

std::string_view short_type_name(gguf::ValueType type) {
  using gguf::ValueType;
  switch (type) {
    case ValueType::u8: return "u8";
    case ValueType::i8: return "i8";
    case ValueType::u16: return "u16";
    case ValueType::i16: return "i16";
    case ValueType::u32: return "u32";
    case ValueType::i32: return "i32";
    case ValueType::f32: return "f32";
    case ValueType::boolean: return "bool";
    case ValueType::string: return "string";
    case ValueType::array: return "array";
    case ValueType::u64: return "u64";
    case ValueType::i64: return "i64";
    case ValueType::f64: return "f64";
  }
  return "?";
}

// Escaped text in quotes; it has no lone backslash, so a quote in it can be told from the end.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '\\';
    out += c;
  }
  return out + '"';
}

}  // namespace

std::vector<PseudoKey> pseudo_keys(const gguf::Document& document) {
  std::vector<PseudoKey> keys = {{"GGUF.version", gguf::ValueType::u32, 4, document.version},
                                 {"GGUF.tensor_count", gguf::ValueType::u64, 8, document.tensor_count},
                                 {"GGUF.kv_count", gguf::ValueType::u64, 16, document.kv_count}};
  std::erase_if(keys, [&](const PseudoKey& key) {
    return key.offset + gguf::value_size(key.type) > document.header_end;  // of another version, or cut off
  });
  return keys;
}

bool selects(const std::vector<std::string>& globs, std::string_view name) {
  return globs.empty() || std::ranges::any_of(globs, [&](const std::string& glob) { return glob_match(glob, name); });
}

std::vector<SelectedKey> select_keys(const gguf::SplitSet& set, const GgufDumpOptions& options) {
  std::vector<SelectedKey> selected;
  u64 index = 3;
  for (const gguf::KeyValue& key : set.files.front().document.keys) {
    if (selects(options.key_globs, key.key)) selected.push_back({&key, index});
    ++index;
  }
  return selected;
}

std::vector<SelectedTensor> select_tensors(const gguf::SplitSet& set, const GgufDumpOptions& options) {
  std::vector<SelectedTensor> selected;
  u64 index = 0;
  for (const gguf::SetFile& file : set.files) {
    for (const gguf::TensorInfo& tensor : file.document.tensors) {
      if (selects(options.tensor_globs, tensor.name)) selected.push_back({&file, &tensor, index});
      ++index;
    }
  }
  return selected;
}

EachName each_key_name(const gguf::SplitSet& set) {
  return [&set](const auto& name) {
    for (const gguf::KeyValue& key : set.files.front().document.keys) name(key.key);
    for (const PseudoKey& pseudo : pseudo_keys(set.files.front().document)) name(pseudo.name);
  };
}

EachName each_tensor_name(const gguf::SplitSet& set) {
  return [&set](const auto& name) {
    for (const gguf::SetFile& file : set.files) {
      for (const gguf::TensorInfo& tensor : file.document.tensors) name(tensor.name);
    }
  };
}

std::optional<u64> data_offset_of(const SelectedTensor& selected) {
  if (!selected.file->document.complete) return std::nullopt;
  return checked_add(selected.file->document.data_offset, selected.tensor->offset);
}

std::string told_file(const SelectedTensor& selected, const GgufDumpOptions& options) {
  return options.several ? selected.file->path : base_name_of(selected.file->path);
}

std::string scalar_text(const gguf::Value& value) {
  return std::visit(
      [](const auto& scalar) -> std::string {
        using T = std::decay_t<decltype(scalar)>;
        if constexpr (std::is_same_v<T, std::string>) {
          return escape(scalar);
        } else if constexpr (std::is_same_v<T, gguf::Bool>) {
          return scalar.byte != 0 ? "true" : "false";
        } else if constexpr (std::is_same_v<T, gguf::ArrayRef>) {
          return {};
        } else if constexpr (std::is_floating_point_v<T>) {
          return float_text(scalar);
        } else {
          return fmt::format("{}", scalar);
        }
      },
      value);
}

std::string key_type_text(const gguf::Value& value) {
  if (const auto* array = std::get_if<gguf::ArrayRef>(&value)) {
    return fmt::format("{}[{}]", short_type_name(array->element_type), thousands(array->count));
  }
  return std::string(short_type_name(static_cast<gguf::ValueType>(value.index())));
}

Result<std::string> preview(const gguf::SetFile& file, const gguf::Value& value, std::size_t columns) {
  if (const auto* text = std::get_if<std::string>(&value)) return escape(*text, columns);
  const auto* array = std::get_if<gguf::ArrayRef>(&value);
  if (array == nullptr) return scalar_text(value);
  const u64 most = std::min<u64>(array->count, columns / 3 + 1);  // the shortest element is "0, "
  std::string line = "[";
  u64 shown = 0;
  const auto append = [&](const std::string& element) {
    if (shown > 0 && display_width(line) + display_width(element) + 5 > columns) return false;
    line += (shown++ == 0 ? "" : ", ") + element;
    return true;
  };
  if (array->element_type == gguf::ValueType::string) {
    MU_TRY(gguf::visit_strings(*file.source, file.document, *array, [&](u64 index, std::string_view text, u64) {
      return index < most && append(quoted(escape(text, columns)));
    }));
  } else {
    MU_ASSIGN(const auto elements, gguf::read_values(*file.source, file.document, *array, most));
    for (const gguf::Value& element : elements) {
      const bool nested = std::holds_alternative<gguf::ArrayRef>(element);
      if (!append(nested ? key_type_text(element) : scalar_text(element))) break;
    }
  }
  return line + (shown < array->count ? ", …]" : "]");
}

}  // namespace modelutils
