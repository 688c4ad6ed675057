#include "tokenizer/read/disagreements.h"

#include <fmt/core.h>

#include <array>

#include "hf/remarks.h"
#include "tokenizer/byte_tokens.h"
#include "tokenizer/read/pipeline.h"

namespace modelutils::tokenizer {

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
      words.set(
          fmt::format("texts with '{}' inside a word are tokenised differently: llama.cpp takes the token there too",
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
