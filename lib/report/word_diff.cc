#include "report/word_diff.h"

#include <algorithm>

#include "base/escape.h"

namespace modelutils {

namespace {

constexpr std::size_t most_cells = 4 * 1024 * 1024;  // 8 MiB for the table of common subsequences
constexpr std::size_t most_columns = 60;             // shown width of a changed run
constexpr std::size_t kept_columns = 24;             // shown width of unchanged text on each side
constexpr std::size_t most_runs = 24;

bool is_blank(char c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

bool is_word(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x80 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    std::size_t size = 1;
    if (is_word(text.front())) {
      while (size < text.size() && is_word(text[size])) ++size;
    } else if (is_blank(text.front())) {
      while (size < text.size() && is_blank(text[size])) ++size;
    }
    words.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return words;
}

using Words = std::vector<std::string_view>;

// Merges neighbouring runs of one kind.
class Runs {
 public:
  void add(WordRun::Kind kind, std::string_view word) {
    if (!list_.empty() && list_.back().kind == kind &&
        list_.back().text.data() + list_.back().text.size() == word.data()) {
      WordRun& last = list_.back();
      last.text = std::string_view(last.text.data(), last.text.size() + word.size());
    } else {
      list_.push_back({kind, word});
    }
  }
  std::vector<WordRun> take() { return std::move(list_); }

 private:
  std::vector<WordRun> list_;
};

// Compares words [begin, end_a) of a with [begin, end_b) of b by their longest common subsequence.
void add_middle(const Words& a, const Words& b, std::size_t begin, std::size_t end_a, std::size_t end_b, Runs& runs) {
  const std::size_t rows = end_a - begin, columns = end_b - begin;
  if (rows == 0 || columns == 0 || rows > most_cells / columns) {
    for (std::size_t i = begin; i < end_a; ++i) runs.add(WordRun::Kind::removed, a[i]);
    for (std::size_t i = begin; i < end_b; ++i) runs.add(WordRun::Kind::added, b[i]);
    return;
  }
  // common[i][j]: length of the longest common subsequence of a from i and b from j. It never exceeds the shorter
  // length.
  std::vector<u16> common((rows + 1) * (columns + 1));
  const auto at = [&](std::size_t i, std::size_t j) -> u16& { return common[i * (columns + 1) + j]; };
  for (std::size_t i = rows; i-- > 0;) {
    for (std::size_t j = columns; j-- > 0;) {
      at(i, j) =
          a[begin + i] == b[begin + j] ? static_cast<u16>(at(i + 1, j + 1) + 1) : std::max(at(i + 1, j), at(i, j + 1));
    }
  }
  std::size_t i = 0, j = 0;
  while (i < rows || j < columns) {
    if (i < rows && j < columns && a[begin + i] == b[begin + j]) {
      runs.add(WordRun::Kind::same, a[begin + i]);
      ++i, ++j;
    } else if (i < rows && (j == columns || at(i + 1, j) >= at(i, j + 1))) {
      runs.add(WordRun::Kind::removed, a[begin + i++]);
    } else {
      runs.add(WordRun::Kind::added, b[begin + j++]);
    }
  }
}

// Returns the end of a text, cut at a character boundary.
std::string_view tail(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  std::size_t begin = text.size() - bytes;
  while (begin < text.size() && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) ++begin;
  return text.substr(begin);
}

std::string same_text(std::string_view text, bool is_first, bool is_last) {
  if (text.size() <= 2 * kept_columns) return escape(text);
  std::string out;
  if (!is_first) out += escape(text, kept_columns);
  if (is_first) out += "…";
  if (!is_last) out += (is_first ? "" : " ") + escape(tail(text, kept_columns));
  return out;
}

}  // namespace

std::vector<WordRun> word_diff(std::string_view text_a, std::string_view text_b) {
  const Words a = words_of(text_a);
  const Words b = words_of(text_b);
  const std::size_t shorter = std::min(a.size(), b.size());
  std::size_t begin = 0;
  while (begin < shorter && a[begin] == b[begin]) ++begin;
  std::size_t end = 0;
  while (end < shorter - begin && a[a.size() - 1 - end] == b[b.size() - 1 - end]) ++end;
  Runs runs;
  for (std::size_t i = 0; i < begin; ++i) runs.add(WordRun::Kind::same, a[i]);
  add_middle(a, b, begin, a.size() - end, b.size() - end, runs);
  for (std::size_t i = a.size() - end; i < a.size(); ++i) runs.add(WordRun::Kind::same, a[i]);
  return runs.take();
}

std::string word_diff_text(std::string_view a, std::string_view b, const Style& style) {
  const std::vector<WordRun> runs = word_diff(a, b);
  std::string line;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (i == most_runs) return line + " …";
    switch (runs[i].kind) {
      case WordRun::Kind::same: line += same_text(runs[i].text, i == 0, i + 1 == runs.size()); break;
      case WordRun::Kind::removed: {
        const std::string text = escape(runs[i].text, most_columns);
        line += style.color() ? style(Paint::removed, text) : "[-" + text + "-]";
        break;
      }
      case WordRun::Kind::added: {
        const std::string text = escape(runs[i].text, most_columns);
        line += style.color() ? style(Paint::added, text) : "{+" + text + "+}";
        break;
      }
    }
  }
  return line;
}

}  // namespace modelutils
