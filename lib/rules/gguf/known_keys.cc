// Checks the types of keys that loaders read. llama.cpp rejects a file with a scalar of the wrong width. Source:
// arch/key_facts.h.
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include "arch/family.h"
#include "arch/key_facts.h"
#include "gguf/parse.h"
#include "rules/gguf/rule_parts.h"
#include "rules/wording.h"

namespace modelutils::gguf_rules {

namespace {

using gguf::ValueType;

std::string type_text(const arch::KeyValueType& type) {
  return type.elements ? fmt::format("an array of {}", gguf::value_type_name(*type.elements))
                       : std::string(gguf::value_type_name(type.type));
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
