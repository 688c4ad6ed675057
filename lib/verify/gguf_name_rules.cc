// Names of keys and tensors, and general.alignment.
#include <fmt/format.h>

#include <algorithm>

#include "base/checked_math.h"
#include "base/escape.h"
#include "base/name_index.h"
#include "base/utf8.h"
#include "verify/gguf_rule_parts.h"

namespace modelutils::gguf_rules {

namespace {

using gguf::where_key;
using gguf::where_tensor;

constexpr std::size_t max_key_bytes = 65535;

void add(FindingLog& log, Severity severity, std::string_view code, u64 offset, std::string where,
         std::string message) {
  log.add({severity, Scope::container, std::string(code), offset, std::move(where), std::move(message), {}});
}

bool is_plain_key(std::string_view key) {
  return std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
  });
}

std::string text_problem(std::string_view text) {
  if (!is_utf8(text)) return "is not UTF-8";
  if (text.find('\0') != std::string_view::npos) return "contains a NUL byte";
  if (needs_escape(text)) return "contains control or invisible characters";
  return {};
}

void check_key_name(const gguf::KeyValue& entry, FindingLog& log) {
  const std::string_view key = entry.key;
  if (key.empty()) {
    return add(log, Severity::error, "gguf-key-empty", entry.offset, {},
               "a key is empty: llama.cpp refuses to load it");
  }
  if (key.size() > max_key_bytes) {
    add(log, Severity::warning, "gguf-key-length", entry.offset, where_key(key),
        fmt::format("the key is {} bytes long, at most {} are allowed", key.size(), max_key_bytes));
  }
  if (is_plain_key(key)) return;
  if (const std::string problem = text_problem(key); !problem.empty()) {
    add(log, Severity::warning, "gguf-key-text", entry.offset, where_key(key), "the key " + problem);
  } else {
    add(log, Severity::warning, "gguf-key-style", entry.offset, where_key(key),
        "the key has characters other than a-z, 0-9, '_', '.' and '-'");
  }
}

// Up to the first NUL: what readers that take names for C strings see.
std::string_view as_c_string(std::string_view name) {
  return name.substr(0, name.find('\0'));
}

// Names of which each is another one, but as C strings equal.
class CutNames {
 public:
  explicit CutNames(std::size_t count) { whole_.reserve(count); }

  /// Is there an earlier name that only its NUL tells apart from this one?
  bool collides(std::string_view name) {
    const NameIndex::Inserted cut = cut_.insert(as_c_string(name));
    if (cut.is_new) whole_.push_back(name);
    return whole_[cut.number] != name;
  }

 private:
  NameIndex cut_;
  std::vector<std::string_view> whole_;  // the first name of each cut
};

void check_cut_keys(const gguf::Document& document, FindingLog& log) {
  CutNames names(document.keys.size());
  for (const gguf::KeyValue& entry : document.keys) {
    const bool is_alignment = as_c_string(entry.key) == "general.alignment" && entry.key != "general.alignment";
    if (!names.collides(entry.key) && !is_alignment) continue;
    add(log, Severity::error, "gguf-key-ambiguous", entry.offset, where_key(entry.key),
        "the key, cut off at its NUL byte, is equal to another one: programs disagree on what it means");
  }
}

void check_cut_tensor_names(const gguf::Document& document, FindingLog& log) {
  CutNames names(document.tensors.size());
  for (const gguf::TensorInfo& tensor : document.tensors) {
    if (!names.collides(tensor.name)) continue;
    add(log, Severity::error, "gguf-tensor-ambiguous", tensor.info_offset, where_tensor(tensor.name),
        "the name differs from another tensor's only after a NUL byte: llama.cpp takes both for the same tensor");
  }
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
      add(log, Severity::error, "gguf-key-duplicate", entry.offset, where_key(entry.key),
          fmt::format("the key appears twice in the file, first at byte {}", first_of[inserted.number]->offset));
    }
  }
  if (any_nul) check_cut_keys(document, log);
}

void check_alignment(const gguf::Document& document, FindingLog& log) {
  const gguf::KeyValue* entry = document.find("general.alignment");
  if (entry == nullptr) return;
  const std::string where = where_key(entry->key);
  const u32* value = std::get_if<u32>(&entry->value);
  if (value == nullptr) {
    return add(log, Severity::error, "gguf-alignment-type", entry->offset, where,
               fmt::format("is of type {}, it must be UINT32", gguf::value_type_name(entry->type())));
  }
  if (*value == 0 || (!is_power_of_two(*value) && *value % 8 != 0)) {
    add(log, Severity::error, "gguf-alignment", entry->offset, where,
        fmt::format("the alignment is {}, it must be a power of two", *value));
  } else if (!is_power_of_two(*value)) {
    add(log, Severity::warning, "gguf-alignment-odd", entry->offset, where,
        fmt::format("the alignment is {}, not a power of two: the format allows any multiple of 8, but llama.cpp "
                    "refuses to load it",
                    *value));
  } else if (*value < 8) {
    add(log, Severity::warning, "gguf-alignment-odd", entry->offset, where,
        fmt::format("the alignment is {}: the format requires a multiple of 8, but llama.cpp accepts it", *value));
  }
}

void check_tensor_names(const gguf::Document& document, FindingLog& log) {
  constexpr std::size_t max_name_bytes = 63;  // llama.cpp keeps 64 with the closing NUL
  NameIndex names;
  names.reserve(document.tensors.size());
  std::vector<const gguf::TensorInfo*> first_of;
  bool any_nul = false;
  for (const gguf::TensorInfo& tensor : document.tensors) {
    const std::string_view name = tensor.name;
    any_nul = any_nul || name.find('\0') != name.npos;
    if (name.empty()) {
      add(log, Severity::warning, "gguf-tensor-name-empty", tensor.info_offset, {}, "a tensor has no name");
    } else if (name.size() > max_name_bytes) {
      add(log, Severity::error, "gguf-tensor-name-length", tensor.info_offset, where_tensor(name),
          fmt::format("the name is {} bytes long, llama.cpp allows at most {}", name.size(), max_name_bytes));
    }
    if (const std::string problem = text_problem(name); !problem.empty()) {
      add(log, Severity::warning, "gguf-tensor-name-text", tensor.info_offset, where_tensor(name),
          "the name " + problem);
    }
    const NameIndex::Inserted inserted = names.insert(name);
    if (inserted.is_new) {
      first_of.push_back(&tensor);
    } else {
      add(log, Severity::error, "gguf-tensor-duplicate", tensor.info_offset, where_tensor(name),
          fmt::format("the name appears twice in the file, first at byte {}", first_of[inserted.number]->info_offset));
    }
  }
  if (any_nul) check_cut_tensor_names(document, log);
}

}  // namespace modelutils::gguf_rules
