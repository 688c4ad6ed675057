#include "formats/gguf/document.h"

#include <fmt/core.h>

#include <array>

#include "base/utf8.h"
#include "formats/gguf/foreign_types.h"
#include "tensor/types.h"

namespace modelutils::gguf {

namespace {

struct ValueTypeRow {
  std::string_view name;
  u32 size;
};

constexpr std::array<ValueTypeRow, 13> value_types = {{{"UINT8", 1},
                                                       {"INT8", 1},
                                                       {"UINT16", 2},
                                                       {"INT16", 2},
                                                       {"UINT32", 4},
                                                       {"INT32", 4},
                                                       {"FLOAT32", 4},
                                                       {"BOOL", 1},
                                                       {"STRING", 0},
                                                       {"ARRAY", 0},
                                                       {"UINT64", 8},
                                                       {"INT64", 8},
                                                       {"FLOAT64", 8}}};
static_assert(std::variant_size_v<Value> == value_types.size());

}  // namespace

u32 value_size(ValueType type) {
  return value_types[static_cast<std::size_t>(type)].size;
}

std::string_view value_type_name(ValueType type) {
  return value_types[static_cast<std::size_t>(type)].name;
}

std::optional<ValueType> value_type_from_id(u32 id) {
  if (id >= value_types.size()) return std::nullopt;
  return static_cast<ValueType>(id);
}

std::optional<u64> TensorInfo::bytes() const {
  if (is_foreign(type_id)) return foreign_tensor_bytes(type_id, ne);
  const std::optional<TensorType> known = type();
  if (!known || ne.size() > max_dims) return std::nullopt;
  return tensor_bytes(*known, ne);
}

std::optional<u64> TensorInfo::elements() const {
  if (ne.size() > max_dims) return std::nullopt;
  return element_count(ne);
}

const KeyValue* Document::find(std::string_view key) const {
  for (const KeyValue& entry : keys) {
    if (entry.key == key) return &entry;
  }
  return nullptr;
}

const TensorInfo* Document::find_tensor(std::string_view tensor) const {
  for (const TensorInfo& entry : tensors) {
    if (entry.name == tensor) return &entry;
  }
  return nullptr;
}

namespace {

// Source: llama_vocab::impl::load().
constexpr std::array<std::string_view, 22> ends_by_text = {"<|eot_id|>",
                                                           "<|im_end|>",
                                                           "<|end|>",
                                                           "<|return|>",
                                                           "<|call|>",
                                                           "<|flush|>",
                                                           "<|calls|>",
                                                           "<end_of_turn>",
                                                           "<|endoftext|>",
                                                           "</s>",
                                                           "<|eom_id|>",
                                                           "<EOT>",
                                                           "_<EOT>",
                                                           "[EOT]",
                                                           "[EOS]",
                                                           "<|end_of_text|>",
                                                           "<end_of_utterance>",
                                                           "<eos>",
                                                           "<turn|>",
                                                           "<|tool_response>",
                                                           "<｜end▁of▁sentence｜>",
                                                           "[e~["};

}  // namespace

std::span<const std::string_view> end_texts() {
  return ends_by_text;
}

namespace {

// In the order of the type ids.
constexpr std::array<std::string_view, 13> short_names = {"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                                          "bool", "string", "array", "u64", "i64", "f64"};

}  // namespace

std::string_view short_type_name(ValueType type) {
  return short_names[static_cast<std::size_t>(type)];
}

std::optional<ValueType> type_from_short_name(std::string_view name) {
  for (std::size_t i = 0; i < short_names.size(); ++i) {
    if (short_names[i] == name) return static_cast<ValueType>(i);
  }
  return std::nullopt;
}

Index::Index(const Document& document) {
  keys_.reserve(document.keys.size());
  key_entries_.reserve(document.keys.size());
  for (const KeyValue& entry : document.keys) {
    if (keys_.insert(entry.key).is_new) key_entries_.push_back(&entry);
  }
  tensors_.reserve(document.tensors.size());
  tensor_entries_.reserve(document.tensors.size());
  for (const TensorInfo& entry : document.tensors) {
    if (tensors_.insert(entry.name).is_new) tensor_entries_.push_back(&entry);
  }
}

const KeyValue* Index::key(std::string_view key) const {
  const std::optional<u32> number = keys_.find(key);
  return number ? key_entries_[*number] : nullptr;
}

const TensorInfo* Index::tensor(std::string_view name) const {
  const std::optional<u32> number = tensors_.find(name);
  return number ? tensor_entries_[*number] : nullptr;
}

std::optional<u64> Index::unsigned_value(std::string_view name) const {
  const KeyValue* entry = key(name);
  if (entry == nullptr) return std::nullopt;
  return std::visit(
      [](const auto& value) -> std::optional<u64> {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_integral_v<T>) {
          if constexpr (std::is_signed_v<T>) {
            if (value < 0) return std::nullopt;
          }
          return static_cast<u64>(value);
        } else {
          return std::nullopt;
        }
      },
      entry->value);
}

std::optional<double> Index::float_value(std::string_view name) const {
  const KeyValue* entry = key(name);
  if (entry == nullptr) return std::nullopt;
  if (const float* narrow = std::get_if<float>(&entry->value)) return static_cast<double>(*narrow);
  if (const double* wide = std::get_if<double>(&entry->value)) return *wide;
  return std::nullopt;
}

std::optional<bool> Index::bool_value(std::string_view name) const {
  const KeyValue* entry = key(name);
  const Bool* value = entry == nullptr ? nullptr : std::get_if<Bool>(&entry->value);
  if (value == nullptr) return std::nullopt;
  return value->byte != 0;
}

std::optional<std::string_view> Index::string_value(std::string_view name) const {
  const KeyValue* entry = key(name);
  const std::string* value = entry == nullptr ? nullptr : std::get_if<std::string>(&entry->value);
  if (value == nullptr) return std::nullopt;
  return *value;
}

const ArrayRef* Index::array_value(std::string_view name) const {
  const KeyValue* entry = key(name);
  return entry == nullptr ? nullptr : std::get_if<ArrayRef>(&entry->value);
}

std::string_view Index::architecture() const {
  return string_value("general.architecture").value_or("");
}

std::string Index::arch_key(std::string_view suffix) const {
  if (suffix.starts_with("tokenizer.")) return std::string(suffix);
  std::string name(architecture());
  name += '.';
  name += suffix;
  return name;
}

std::string_view file_type_name(u64 code) {
  // Indexed by code. llama.cpp has removed the empty ones.
  static constexpr std::array<std::string_view, 42> names = {
      "F32",    "F16",     "Q4_0",   "Q4_1",   "",       "",       "",       "Q8_0",  "Q5_0",    "Q5_1",   "Q2_K",
      "Q3_K_S", "Q3_K_M",  "Q3_K_L", "Q4_K_S", "Q4_K_M", "Q5_K_S", "Q5_K_M", "Q6_K",  "IQ2_XXS", "IQ2_XS", "Q2_K_S",
      "IQ3_XS", "IQ3_XXS", "IQ1_S",  "IQ4_NL", "IQ3_S",  "IQ3_M",  "IQ2_S",  "IQ2_M", "IQ4_XS",  "IQ1_M",  "BF16",
      "",       "",        "",       "TQ1_0",  "TQ2_0",  "MXFP4",  "NVFP4",  "Q1_0",  "Q2_0"};
  constexpr u64 guessed = 1024;
  const u64 plain = code & ~guessed;
  return plain < names.size() ? names[static_cast<std::size_t>(plain)] : std::string_view{};
}

}  // namespace modelutils::gguf
