#include "tokenizer/regex_words.h"

#include <algorithm>

namespace modelutils::tokenizer {

std::optional<Words> product(const std::optional<Words>& left, const std::optional<Words>& right) {
  if (!left || !right || left->size() * right->size() > max_words) return std::nullopt;
  Words words;
  for (const std::string& a : *left) {
    for (const std::string& b : *right) words.push_back(a + b);
  }
  return words;
}

std::optional<Words> order_free(Words words) {
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i].starts_with(words[i - 1])) return std::nullopt;
  }
  return words;
}

std::string_view contractions_name(const Words& words) {
  static const auto spelled = [](bool both_cases) {
    Words all;
    for (const std::string_view ending : {"s", "t", "re", "ve", "m", "ll", "d"}) {
      Words forms = {"'"};
      for (const char c : ending) {
        Words longer;
        for (const std::string& form : forms) {
          longer.push_back(form + c);
          if (both_cases) longer.push_back(form + static_cast<char>(c ^ 0x20));
        }
        forms = std::move(longer);
      }
      all.insert(all.end(), forms.begin(), forms.end());
    }
    std::sort(all.begin(), all.end());
    return all;
  };
  static const Words small = spelled(false), both = spelled(true);
  return words == small ? "<c>" : words == both ? "<C>" : "";
}

}  // namespace modelutils::tokenizer
