// Checks key names, tensor names and general.alignment.
#include <fmt/core.h>

#include <algorithm>

#include "base/checked_math.h"
#include "base/escape.h"
#include "base/name_index.h"
#include "base/utf8.h"
#include "rules/gguf/rule_parts.h"

namespace modelutils::gguf_rules {

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
                     fmt::format("is of type {}, it must be UINT32", gguf::value_type_name(entry->type())), where,
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

void check_tensor_names(const gguf::Document& document, FindingLog& log) {
  constexpr std::size_t max_name_bytes = 63;  // llama.cpp's limit is 64 including the closing NUL
  NameIndex names;
  names.reserve(document.tensors.size());
  std::vector<const gguf::TensorInfo*> first_of;
  bool any_nul = false;
  for (const gguf::TensorInfo& tensor : document.tensors) {
    const std::string_view name = tensor.name;
    any_nul = any_nul || name.find('\0') != name.npos;
    if (name.empty()) {
      log.warning(Scope::container, "gguf-tensor-name-empty", "a tensor has no name", {}, tensor.info_offset);
    } else if (name.size() > max_name_bytes) {
      log.error(Scope::container, "gguf-tensor-name-length",
                fmt::format("the name is {} bytes long, llama.cpp allows at most {}", name.size(), max_name_bytes),
                at_tensor(name), tensor.info_offset);
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

}  // namespace modelutils::gguf_rules
