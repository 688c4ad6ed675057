#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <vector>

#include "arch/family.h"
#include "arch/key_facts.h"
#include "base/escape.h"
#include "base/name_index.h"
#include "base/types.h"
#include "base/utf8.h"
#include "formats/gguf/parse.h"
#include "rules/formats.h"
#include "rules/gguf/rule_parts.h"

namespace modelutils::gguf_rules {

// Checks key names, tensor names and general.alignment.

namespace {

constexpr std::size_t max_key_bytes = 65535;

bool is_plain_key(std::string_view key) {
  return std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
  });
}

std::string text_problem(std::string_view content) {
  if (!is_utf8(content)) return "is not UTF-8";
  if (content.find('\0') != std::string_view::npos) return "contains a NUL byte";
  if (needs_escape(content)) return "contains control or invisible characters";
  return {};
}

void check_key_name(const gguf::KeyValue& entry, FindingLog& log) {
  const std::string_view key = entry.key;
  if (key.empty()) {
    return log.error(Scope::container, "gguf-key-empty", "a key is empty: llama.cpp refuses to load it", {},
                     entry.offset);
  }
  if (key.size() > max_key_bytes) {
    log.warning(Scope::container, "gguf-key-length",
                fmt::format("the key is {} bytes long, at most {} are allowed", key.size(), max_key_bytes), at_key(key),
                entry.offset);
  }
  if (is_plain_key(key)) return;
  if (const std::string problem = text_problem(key); !problem.empty()) {
    log.warning(Scope::container, "gguf-key-text", "the key " + problem, at_key(key), entry.offset);
  } else {
    log.warning(Scope::container, "gguf-key-style", "the key has characters other than a-z, 0-9, '_', '.' and '-'",
                at_key(key), entry.offset);
  }
}

// Returns the name up to the first NUL, as readers that use C strings see it.
std::string_view as_c_string(std::string_view name) {
  return name.substr(0, name.find('\0'));
}

// Finds different names that are equal as C strings.
class CutNames {
 public:
  explicit CutNames(std::size_t count) { whole_.reserve(count); }

  /// True if an earlier, different name is equal to this one up to a NUL.
  bool collides(std::string_view name) {
    const NameIndex::Inserted cut = cut_.insert(as_c_string(name));
    if (cut.is_new) whole_.push_back(name);
    return whole_[cut.number] != name;
  }

 private:
  NameIndex cut_;
  std::vector<std::string_view> whole_;  // the first name for each C string
};

void check_cut_keys(const gguf::Document& document, FindingLog& log) {
  CutNames names(document.keys.size());
  for (const gguf::KeyValue& entry : document.keys) {
    const bool is_alignment = as_c_string(entry.key) == "general.alignment" && entry.key != "general.alignment";
    if (!names.collides(entry.key) && !is_alignment) continue;
    log.error(Scope::container, "gguf-key-ambiguous",
              "the key, cut off at its NUL byte, is equal to another one: programs disagree on what it means",
              at_key(entry.key), entry.offset);
  }
}

void check_cut_tensor_names(const gguf::Document& document, FindingLog& log) {
  CutNames names(document.tensors.size());
  for (const gguf::TensorInfo& tensor : document.tensors) {
    if (!names.collides(tensor.name)) continue;
    log.error(Scope::container, "gguf-tensor-ambiguous",
              "the name differs from another tensor's only after a NUL byte: llama.cpp takes both for the same tensor",
              at_tensor(tensor.name), tensor.info_offset);
  }
}

// ggml's reader refuses a longer name. Image models, which other programs read, have such names as published.
void check_name_length(const gguf::TensorInfo& tensor, gguf::Limits limits, FindingLog& log) {
  const std::size_t size = tensor.name.size();
  if (size <= gguf::ggml_limits.name_bytes) return;
  const bool is_too_long = size > limits.name_bytes;
  const bool is_image_model = limits.name_bytes > gguf::ggml_limits.name_bytes;
  const std::string message =
      !is_image_model ? fmt::format("the name is {} bytes long, llama.cpp allows at most {}", size, limits.name_bytes)
      : is_too_long
          ? fmt::format("the name is {} bytes long: ComfyUI-GGUF's tools write at most {}", size, limits.name_bytes)
          : fmt::format(
                "the name is {} bytes long: programs built on ggml refuse names of more than {}; ComfyUI-GGUF, "
                "diffusers and stable-diffusion.cpp do not",
                size, gguf::ggml_limits.name_bytes);
  const Severity severity = !is_too_long ? Severity::note : is_image_model ? Severity::warning : Severity::error;
  log.add(severity, Scope::container, "gguf-tensor-name-length", message, at_tensor(tensor.name), tensor.info_offset);
}

}  // namespace

void check_key_names(const gguf::Document& document, FindingLog& log) {
  NameIndex names;
  names.reserve(document.keys.size());
  std::vector<const gguf::KeyValue*> first_of;
  bool any_nul = false;
  for (const gguf::KeyValue& entry : document.keys) {
    check_key_name(entry, log);
    any_nul = any_nul || entry.key.find('\0') != std::string::npos;
    const NameIndex::Inserted inserted = names.insert(entry.key);
    if (inserted.is_new) {
      first_of.push_back(&entry);
    } else {
      log.error(Scope::container, "gguf-key-duplicate",
                fmt::format("the key appears twice in the file, first at byte {}", first_of[inserted.number]->offset),
                at_key(entry.key), entry.offset);
    }
  }
  if (any_nul) check_cut_keys(document, log);
}

void check_alignment(const gguf::Document& document, FindingLog& log) {
  const gguf::KeyValue* entry = document.find("general.alignment");
  if (entry == nullptr) return;
  const std::string where = at_key(entry->key);
  const u32* value = std::get_if<u32>(&entry->value);
  if (value == nullptr) {
    return log.error(Scope::container, "gguf-alignment-type",
                     fmt::format("is of type {}, it must be u32", gguf::short_type_name(entry->type())), where,
                     entry->offset);
  }
  if (*value == 0 || (!is_power_of_two(*value) && *value % 8 != 0)) {
    log.error(Scope::container, "gguf-alignment", fmt::format("the alignment is {}, it must be a power of two", *value),
              where, entry->offset);
  } else if (!is_power_of_two(*value)) {
    log.warning(
        Scope::container, "gguf-alignment-odd",
        fmt::format("the alignment is {}, not a power of two: the format allows any multiple of 8, but llama.cpp "
                    "refuses to load it",
                    *value),
        where, entry->offset);
  } else if (*value < 8) {
    log.warning(
        Scope::container, "gguf-alignment-odd",
        fmt::format("the alignment is {}: the format requires a multiple of 8, but llama.cpp accepts it", *value),
        where, entry->offset);
  }
}

void check_tensor_names(const gguf::Document& document, gguf::Limits limits, FindingLog& log) {
  NameIndex names;
  names.reserve(document.tensors.size());
  std::vector<const gguf::TensorInfo*> first_of;
  bool any_nul = false;
  for (const gguf::TensorInfo& tensor : document.tensors) {
    const std::string_view name = tensor.name;
    any_nul = any_nul || name.find('\0') != name.npos;
    if (name.empty()) {
      log.warning(Scope::container, "gguf-tensor-name-empty", "a tensor has no name", {}, tensor.info_offset);
    } else {
      check_name_length(tensor, limits, log);
    }
    if (const std::string problem = text_problem(name); !problem.empty()) {
      log.warning(Scope::container, "gguf-tensor-name-text", "the name " + problem, at_tensor(name),
                  tensor.info_offset);
    }
    const NameIndex::Inserted inserted = names.insert(name);
    if (inserted.is_new) {
      first_of.push_back(&tensor);
    } else {
      log.error(
          Scope::container, "gguf-tensor-duplicate",
          fmt::format("the name appears twice in the file, first at byte {}", first_of[inserted.number]->info_offset),
          at_tensor(name), tensor.info_offset);
    }
  }
  if (any_nul) check_cut_tensor_names(document, log);
}

// Checks the values of keys regardless of their meaning: invalid UTF-8, control characters, non-finite numbers.

namespace {

// The token rules check these while hashing them.
bool has_own_pass(std::string_view key) {
  return key == "tokenizer.ggml.tokens" || key == "tokenizer.ggml.merges";
}

// True if the text contains a control character: C0 except NUL (which the format allows in text), tab, line feed and
// carriage return; DEL; or C1 (two bytes in UTF-8).
bool has_control(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const u8 byte = static_cast<u8>(text[i]);
    const bool is_c0 = byte < 0x20 && byte != 0 && byte != '\t' && byte != '\n' && byte != '\r';
    if (is_c0 || byte == 0x7F) return true;
    if (byte == 0xC2 && i + 1 < text.size() && static_cast<u8>(text[i + 1]) < 0xA0) return true;
  }
  return false;
}

class ValueRules {
 public:
  ValueRules(const ByteSource& source, const gguf::Document& document, FindingLog& log)
      : source_(source), document_(document), log_(log) {}

  void check(const gguf::KeyValue& entry) {
    if (const auto* text = std::get_if<std::string>(&entry.value)) return check_text(entry, *text);
    if (const auto* number = std::get_if<float>(&entry.value)) return check_number(entry, *number);
    if (const auto* number = std::get_if<double>(&entry.value)) return check_number(entry, *number);
    const auto* array = std::get_if<gguf::ArrayRef>(&entry.value);
    if (array == nullptr || has_own_pass(entry.key)) return;
    if (array->element_type == gguf::ValueType::string) check_texts(entry, *array);
    if (array->element_type == gguf::ValueType::f32 || array->element_type == gguf::ValueType::f64) {
      check_numbers(entry, *array);
    }
  }

 private:
  void check_text(const gguf::KeyValue& entry, std::string_view text) {
    if (!is_utf8(text)) {
      log_.warning(Scope::model, "gguf-value-utf8", "the text is not UTF-8", at_key(entry.key), entry.value_offset);
    } else if (has_control(text)) {
      log_.warning(Scope::model, "gguf-value-control", "the text contains control characters", at_key(entry.key),
                   entry.value_offset);
    }
  }

  void check_number(const gguf::KeyValue& entry, double number) {
    if (!std::isfinite(number)) {
      log_.warning(Scope::model, "gguf-value-nan", std::isnan(number) ? "the value is NaN" : "the value is infinite",
                   at_key(entry.key), entry.value_offset);
    }
  }

  void check_texts(const gguf::KeyValue& entry, const gguf::ArrayRef& array) {
    u64 bad = 0;
    u64 first_index = 0;
    u64 first_offset = 0;
    const Status read =
        gguf::visit_strings(source_, document_, array, [&](u64 index, std::string_view text, u64 offset) {
          if (!is_utf8(text) && bad++ == 0) {
            first_index = index;
            first_offset = offset;
          }
          return true;
        });
    if (!read) log_.add(without_path(read.error()));
    if (bad == 0) return;
    log_.warning(Scope::model, "gguf-value-utf8",
                 fmt::format("{} of {} {} not UTF-8, the first is element {}", bad, counted(array.count, "string"),
                             verb(bad, "is", "are"), first_index),
                 at_key(entry.key), first_offset);
  }

  void check_numbers(const gguf::KeyValue& entry, const gguf::ArrayRef& array) {
    constexpr u64 step = 64 * 1024;
    u64 bad = 0;
    u64 first_index = 0;
    // In Gemma 3n minus infinity marks layers without activation sparsity; llama.cpp's converter writes it.
    const bool may_cut_nothing = entry.key.ends_with(".activation_sparsity_scale");
    const auto is_odd = [&](double number) {
      return !std::isfinite(number) && !(may_cut_nothing && std::isinf(number) && number < 0);
    };
    for (u64 first = 0; first < array.count; first += step) {
      const auto numbers = gguf::read_numbers<double>(source_, document_, array, first, step);
      if (!numbers) return log_.add(without_path(numbers.error()));
      for (std::size_t i = 0; i < numbers->size(); ++i) {
        if (is_odd((*numbers)[i]) && bad++ == 0) first_index = first + i;
      }
    }
    if (bad == 0) return;
    log_.warning(Scope::model, "gguf-value-nan",
                 fmt::format("{} of {} {} NaN or infinite, the first is element {}", bad,
                             counted(array.count, "number"), verb(bad, "is", "are"), first_index),
                 at_key(entry.key), array.offset + first_index * gguf::value_size(array.element_type));
  }

  const ByteSource& source_;
  const gguf::Document& document_;
  FindingLog& log_;
};

}  // namespace

void check_values(const ByteSource& source, const gguf::Document& document, FindingLog& log) {
  ValueRules rules(source, document, log);
  for (const gguf::KeyValue& entry : document.keys) rules.check(entry);
}

// Checks the types of keys that loaders read. llama.cpp rejects a file with a scalar of the wrong width. Source:
// arch/key_facts.h.

namespace {

using gguf::ValueType;

std::string type_text(const arch::KeyValueType& type) {
  return type.elements ? fmt::format("an array of {}", gguf::short_type_name(*type.elements))
                       : std::string(gguf::short_type_name(type.type));
}

arch::KeyValueType type_of(const gguf::KeyValue& entry) {
  const auto* array = std::get_if<gguf::ArrayRef>(&entry.value);
  return {entry.type(), array == nullptr ? std::nullopt : std::optional(array->element_type)};
}

// Returns the allowed types of a key, scalars before arrays.
std::vector<arch::KeyValueType> types_of(const arch::KeyFacts& facts) {
  std::vector<arch::KeyValueType> types;
  for_each_name(facts.types, [&](std::string_view text) {
    if (const auto type = arch::key_value_type(text)) types.push_back(*type);
  });
  return types;
}

std::string allowed_text(const std::vector<arch::KeyValueType>& types) {
  std::string list;
  for (const arch::KeyValueType& type : types) list += (list.empty() ? "" : " or ") + type_text(type);
  return list;
}

std::optional<double> number_of(const gguf::Value& value) {
  return std::visit(
      [](const auto& held) -> std::optional<double> {
        if constexpr (std::is_arithmetic_v<std::decay_t<decltype(held)>>) return static_cast<double>(held);
        return std::nullopt;
      },
      value);
}

class KnownKeys {
 public:
  KnownKeys(const gguf::SetFile& file, std::string_view architecture, FindingLog& log)
      : file_(file), architecture_(architecture), log_(log) {}

  void check(const gguf::KeyValue& entry) {
    if (has_rules_of_its_own(entry.key)) return;
    const arch::KeyFacts* facts = arch::find_key_facts(entry.key, architecture_);
    if (facts == nullptr) return;
    const std::vector<arch::KeyValueType> allowed = types_of(*facts);
    if (std::ranges::find(allowed, type_of(entry)) == allowed.end()) {
      log_.warning(Scope::model, "gguf-key-type",
                   fmt::format("is {}, but llama.cpp requires {}", type_text(type_of(entry)), allowed_text(allowed)),
                   at_key(entry.key), entry.offset);
      return;
    }
    if (!has_range_of_its_own(entry.key)) check_range(entry, *facts);
    check_length(entry, *facts);
  }

 private:
  // Other rules check these keys with more specific messages.
  static bool has_rules_of_its_own(std::string_view key) {
    return key == "general.alignment" || key == "general.architecture";
  }
  static bool has_range_of_its_own(std::string_view key) {
    return key.ends_with(".rope.freq_base") || key.ends_with(".rope.freq_base_swa");
  }

  // Checks arrays that have the same length in every model.
  void check_length(const gguf::KeyValue& entry, const arch::KeyFacts& facts) {
    const auto* array = std::get_if<gguf::ArrayRef>(&entry.value);
    u64 length = 0;
    const auto [end, error] = std::from_chars(facts.length.data(), facts.length.data() + facts.length.size(), length);
    const bool is_read = facts.readers == "*" || arch::has_name(facts.readers, architecture_);
    if (array == nullptr || error != std::errc{} || array->count == length || !is_read) return;
    log_.warning(Scope::model, "gguf-key-elements",
                 fmt::format("has {}, but llama.cpp requires {}", counted(array->count, "element"), length),
                 at_key(entry.key), entry.offset);
  }

  void check_range(const gguf::KeyValue& entry, const arch::KeyFacts& facts) {
    std::vector<double> numbers;
    if (const auto* array = std::get_if<gguf::ArrayRef>(&entry.value)) {
      // The token rules check arrays over the vocabulary.
      constexpr u64 most = 1024;
      if (!facts.has_one_for_each_layer() || gguf::value_size(array->element_type) == 0) return;
      numbers =
          gguf::read_numbers<double>(*file_.source, file_.document, *array, 0, most).value_or(std::vector<double>{});
    } else if (const auto number = number_of(entry.value)) {
      numbers.push_back(*number);
    }
    const auto wrong =
        std::ranges::find_if(numbers, [&](double number) { return number < facts.least || number > facts.most; });
    if (wrong == numbers.end()) return;
    const bool is_small = *wrong < facts.least;
    log_.warning(Scope::model, "gguf-key-range",
                 fmt::format("{} {}, {} {} is allowed", numbers.size() == 1 ? "is" : "contains", *wrong,
                             is_small ? "at least" : "at most", is_small ? facts.least : facts.most),
                 at_key(entry.key), entry.offset);
  }

  const gguf::SetFile& file_;
  std::string_view architecture_;
  FindingLog& log_;
};

}  // namespace

void check_known_keys(const gguf::SetFile& file, const gguf::Index& index, FindingLog& log) {
  KnownKeys keys(file, index.architecture(), log);
  for (const gguf::KeyValue& entry : file.document.keys) keys.check(entry);
}

}  // namespace modelutils::gguf_rules
