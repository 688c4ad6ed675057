#include "tokenizer/read/pre_tokenizer.h"

#include <fmt/core.h>

#include <algorithm>

#include "tokenizer/pre_table.h"
#include "tokenizer/read/pipeline.h"
#include "tokenizer/regex_form.h"

namespace modelutils::tokenizer {

namespace {

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

// replace_all() moves the tail at each hit, so it is only fast for short texts.
constexpr std::size_t max_compared = 16 * 1024;

std::string split_element(json::Element split) {
  const std::string_view behaviour = json::string_member(split, "behavior").value_or("");
  const bool invert = json::bool_member(split, "invert").value_or(false);
  // Both variants make each match a separate piece.
  const bool plain = (behaviour == "Isolated" && !invert) || (behaviour == "Removed" && invert);
  std::string tag;
  if (!plain) tag = fmt::format(":{}{}", invert ? "!" : "", behaviour);
  const auto pattern = json::member(split, "pattern");
  if (pattern) {
    if (const auto regex = json::string_member(*pattern, "Regex")) {
      return fmt::format("S{}({})", tag, regex_form(*regex));
    }
    if (const auto text = json::string_member(*pattern, "String"))
      return fmt::format("S{}({})", tag, regex_of_text(*text));
  }
  return fmt::format("S{}?", tag);
}

std::string element_text(const Component& component) {
  if (component.type == "Split") return split_element(component.value);
  if (component.type == "Digits") {
    return json::bool_member(component.value, "individual_digits").value_or(false) ? "D1" : "D*";
  }
  if (component.type == "Punctuation") {
    const std::string_view behaviour = json::string_member(component.value, "behavior").value_or("Isolated");
    return behaviour == "Contiguous" ? "P" : fmt::format("P:{}", behaviour);
  }
  if (component.type == "ByteLevel") {
    return json::bool_member(component.value, "use_regex").value_or(true) ? "B+" : "B-";
  }
  if (component.type == "Metaspace") return "M";
  return component.type.empty() ? "?" : std::string(component.type);
}

bool element_matches(std::string_view wanted, std::string_view found) {
  if (wanted.starts_with('^')) return found.starts_with(wanted.substr(1));
  if (wanted.starts_with('~')) return found.find(wanted.substr(1)) != std::string_view::npos;
  return wanted == found;
}

// Replaces components that are equivalent to a Split by that Split.
PreSignature as_splits(const PreSignature& signature) {
  static const std::string gpt2 =
      "S(" + regex_form(R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)") + ")";
  PreSignature splits;
  for (const std::string& element : signature) {
    if (element == "B+") {
      splits.push_back(gpt2);
      splits.emplace_back("B-");
    } else if (element == "D1") {
      splits.emplace_back("S(\\p{N})");
    } else if (element == "D*") {
      splits.emplace_back("S(\\p{N}+)");
    } else {
      splits.push_back(element);
    }
  }
  return splits;
}

bool signature_matches(const PreSignature& wanted, const PreSignature& found) {
  return std::equal(wanted.begin(), wanted.end(), found.begin(), found.end(), element_matches);
}

bool holds(const PreRow& row, const PreFacts& facts) {
  const bool tidy = facts.clean_spaces == false || facts.nfc;
  const bool is_of_family = facts.of_family == row.pre;
  switch (row.when) {
    case PreWhen::always: return true;
    case PreWhen::gmask: return facts.has_gmask;
    case PreWhen::ignore_merges: return facts.ignore_merges;
    case PreWhen::family_cleaned: return is_of_family && facts.clean_spaces == true;
    case PreWhen::family_tidy: return is_of_family && tidy;
    case PreWhen::tidy: return tidy;
    case PreWhen::clean_off: return facts.clean_spaces == false;
    case PreWhen::roberta: return facts.roberta;
  }
  return false;
}

// Makes signatures equal that differ only in the number of digits kept together.
std::string without_digit_counts(std::string text) {
  replace_all(text, "\\p{N}{1,3}", "\\p{N}");
  replace_all(text, "\\p{N}+", "\\p{N}");
  return text;
}

std::string shortened(std::string text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0) == 0x80) --bytes;
  return text.substr(0, bytes) + "…";
}

std::string describe_nearest(const PreSignature& signature) {
  const std::string text = signature_text(signature);
  const std::string bare = without_digit_counts(shortened(text, max_compared));
  const PreRow* nearest = nullptr;
  std::size_t longest = 0;
  for (const PreRow& row : pre_table()) {
    const std::string other = signature_text(row.signature);
    if (without_digit_counts(other) == bare) {
      return fmt::format("it differs from '{}' ({}) only in how digits are grouped", row.pre, row.models);
    }
    const auto common = static_cast<std::size_t>(
        std::mismatch(text.begin(), text.end(), other.begin(), other.end()).first - text.begin());
    if (common > longest) {
      longest = common;
      nearest = &row;
    }
  }
  // A common prefix "S(" is no resemblance.
  if (nearest == nullptr || longest < 6) return "it resembles none of the known ones";
  return fmt::format("the closest known one is '{}' ({}): {}", nearest->pre, nearest->models,
                     signature_text(nearest->signature));
}

}  // namespace

PreSignature pre_signature(json::Element tokenizer_json) {
  PreSignature signature;
  for (const Component& component : pre_tokenizers(tokenizer_json)) signature.push_back(element_text(component));
  return signature;
}

Result<const PreRow*> recognise_pre(const PreSignature& signature, const PreFacts& facts) {
  const PreSignature splits = as_splits(signature);
  for (const PreRow& row : pre_table()) {
    if (signature_matches(as_splits(row.signature), splits) && holds(row, facts)) return &row;
  }
  const std::string text = signature.empty() ? "(none)" : shortened(signature_text(signature), 2000);
  return input_error("hf-tok-pre-unknown",
                     fmt::format("unknown pre-tokenizer: {}; {}; pass --pre NAME to choose one of llama.cpp's", text,
                                 describe_nearest(signature)),
                     "pre_tokenizer");
}

}  // namespace modelutils::tokenizer
