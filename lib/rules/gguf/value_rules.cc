// Checks the values of keys regardless of their meaning: invalid UTF-8, control characters, non-finite numbers.
#include <fmt/core.h>

#include <cmath>

#include "base/utf8.h"
#include "gguf/parse.h"
#include "rules/gguf/rule_parts.h"
#include "rules/wording.h"

namespace modelutils::gguf_rules {

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

}  // namespace modelutils::gguf_rules
