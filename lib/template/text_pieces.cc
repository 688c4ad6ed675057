#include "template/text_pieces.h"

#include <algorithm>

namespace modelutils::jinja {

Texts nothing_known() {
  return {std::string(1, unknown_piece)};
}

void add_text(Texts& into, std::string text) {
  if (text.size() > most_bytes) text.resize(most_bytes);
  if (into.size() < most_texts && std::find(into.begin(), into.end(), text) == into.end()) {
    into.push_back(std::move(text));
  }
}

Texts each(const Texts& texts, const std::function<std::string(std::string)>& change) {
  Texts result;
  for (const std::string& text : texts) add_text(result, change(text));
  return result;
}

Texts product(const Texts& left, const Texts& right) {
  Texts result;
  for (const std::string& a : left) {
    for (const std::string& b : right) add_text(result, a + b);
  }
  return result;
}

std::string replaced(std::string_view text, std::string_view what, std::string_view by) {
  std::string result;
  if (what.empty()) return std::string(text);
  for (std::size_t at = 0; at < text.size();) {
    if (text.substr(at).starts_with(what)) {
      result += by;
      at += what.size();
    } else {
      result += text[at++];
    }
  }
  return result;
}

std::string cased(std::string text, bool upper) {
  for (char& c : text) {
    if (upper && c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    if (!upper && c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

std::string stripped(std::string text) {
  const std::size_t begin = text.find_first_not_of(" \t\n");
  return begin == text.npos ? std::string() : text.substr(begin, text.find_last_not_of(" \t\n") + 1 - begin);
}

}  // namespace modelutils::jinja
