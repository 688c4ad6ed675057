#include "tokenizer/read/pipeline.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "formats/hf/config_members.h"
#include "tokenizer/pre_table.h"
#include "tokenizer/regex_form.h"
#include "tokenizer/tokenizer.h"

namespace modelutils::tokenizer {

namespace {

constexpr std::size_t max_components = 256;

}  // namespace

std::vector<Component> flatten(json::Element root, std::string_view key, std::string_view members) {
  std::vector<Component> flat;
  const auto top = json::member(root, key);
  if (!top) return flat;
  // A stack of components to visit, the next one last.
  std::vector<json::Element> pending = {*top};
  while (!pending.empty() && flat.size() < max_components) {
    const json::Element element = pending.back();
    pending.pop_back();
    const std::string_view type = json::string_member(element, "type").value_or("");
    if (type != "Sequence") {
      flat.push_back({type, element});
      continue;
    }
    const auto inner = json::array_member(element, members);
    if (!inner) continue;
    const std::size_t first = pending.size();
    for (const json::Element member : *inner) {
      if (pending.size() - first == max_components) break;
      pending.push_back(member);
    }
    std::reverse(pending.begin() + static_cast<std::ptrdiff_t>(first), pending.end());
  }
  return flat;
}

std::vector<Component> pre_tokenizers(json::Element root) {
  return flatten(root, "pre_tokenizer", "pretokenizers");
}
std::vector<Component> normalizers(json::Element root) {
  return flatten(root, "normalizer", "normalizers");
}
std::vector<Component> decoders(json::Element root) {
  return flatten(root, "decoder", "decoders");
}
std::vector<Component> post_processors(json::Element root) {
  return flatten(root, "post_processor", "processors");
}

bool has_type(const std::vector<Component>& components, std::string_view type) {
  return std::any_of(components.begin(), components.end(), [&](const Component& one) { return one.type == type; });
}

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
  // A shared prefix "S(" does not make two elements similar.
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

namespace {

struct Change {
  std::string_view type, texts;
};
constexpr std::array<Change, 10> changes = {{
    {"NFD", "texts with composed letters (é) or Hangul"},
    {"NFKC", "texts with compatibility characters (ﬁ, ½, full-width letters, no-break spaces) or separate accents"},
    {"NFKD", "texts with composed letters (é), Hangul or compatibility characters (ﬁ, ½)"},
    {"Nmt", "texts with control characters or unusual spaces"},
    {"Precompiled",
     "texts with compatibility characters (ﬁ, ½, full-width letters), tabs, line ends or runs of spaces"},
    {"Lowercase", "texts with capital letters"},
    {"StripAccents", "texts with combining marks"},
    {"Strip", "texts that begin or end with spaces"},
    {"BertNormalizer", "texts with capital letters, accents, control characters or Chinese characters"},
    {"Prepend", "all texts"},
}};

// Describes the texts that a normalizer changes.
std::string changed_texts(const Component& component) {
  if (component.type == "Replace") {
    const auto pattern = json::member(component.value, "pattern");
    if (pattern) {
      if (const auto text = json::string_member(*pattern, "String")) return fmt::format("texts with '{}'", *text);
      if (const auto regex = json::string_member(*pattern, "Regex")) return fmt::format("texts that match {}", *regex);
    }
  }
  for (const Change& change : changes) {
    if (change.type == component.type) return std::string(change.texts);
  }
  return "the texts that it changes";
}

bool only_marks_spaces(const Component& component) {
  if (component.type == "Prepend") return json::string_member(component.value, "prepend") == space_mark;
  return component.type == "Replace" && json::string_member(component.value, "content") == space_mark;
}

}  // namespace

void warn_of_normalizer(const Component& component, FindingLog& findings) {
  if (component.type == "NFC") {
    findings.warning(
        Scope::model, "hf-tok-nfc",
        "texts that are not in NFC (an accent as a character of its own after its letter) are tokenised differently: "
        "llama.cpp does not compose them",
        "normalizer");
    return;
  }
  findings.warning(Scope::model, "hf-tok-normalizer",
                   fmt::format("{} are tokenised differently: llama.cpp does not apply the normalizer {}",
                               changed_texts(component), component.type),
                   "normalizer");
}

void warn_of_normalizers(json::Element tokenizer_json, bool marks_spaces, FindingLog& findings) {
  for (const Component& component : normalizers(tokenizer_json)) {
    if (!marks_spaces || !only_marks_spaces(component)) warn_of_normalizer(component, findings);
  }
}

void warn_of_added_tokens(const std::vector<AddedToken>& added, FindingLog& findings) {
  hf::Repeated words, spaces;
  for (const AddedToken& token : added) {
    if (token.single_word && words.met()) {
      words.set(fmt::format(
          "texts with '{}' inside a word are tokenised differently: llama.cpp recognises the token there, too",
          token.content));
    }
    if ((token.lstrip || token.rstrip) && spaces.met()) {
      spaces.set(fmt::format(
          "texts with spaces {} '{}' are tokenised differently: the original drops them, llama.cpp does not",
          token.lstrip && token.rstrip ? "next to"
          : token.lstrip               ? "before"
                                       : "after",
          token.content));
    }
  }
  words.emit(findings, "hf-tok-single-word");
  spaces.emit(findings, "hf-tok-strips-spaces");
}

}  // namespace modelutils::tokenizer
