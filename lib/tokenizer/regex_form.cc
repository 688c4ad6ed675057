#include "tokenizer/regex_form.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "base/utf8.h"
#include "tokenizer/regex_class.h"
#include "tokenizer/regex_words.h"

namespace modelutils::tokenizer {

namespace {

constexpr std::size_t max_regex = 16 * 1024;
constexpr int max_depth = 32;

// A part of a regex in its canonical spelling.
struct Form {
  std::string text;
  std::optional<Words> words;  // all texts that it matches, if they are few
  bool atomic = true;          // a quantifier may follow directly
};

// Rewrites alternatives that have a simpler equivalent.
void simplify(std::vector<Form>& alternatives) {
  const std::string spaces_before_space = "\\s+(?!\\S)";
  for (std::size_t i = 0; i < alternatives.size(); ++i) {
    if (alternatives[i].text == "\\s*[\\n\\r]+") alternatives[i].text = "\\s*[\\n\\r]";
    if (alternatives[i].text != spaces_before_space) continue;
    if (i + 2 == alternatives.size() && alternatives[i + 1].text == "\\s") alternatives[i + 1].text = "\\s+";
    if (i > 0 && alternatives[i - 1].text == "\\s+$") {
      alternatives.erase(alternatives.begin() + static_cast<std::ptrdiff_t>(i - 1));
      --i;
    }
  }
}

class RegexReader {
 public:
  explicit RegexReader(std::string_view regex) : rest_(regex) {}

  std::optional<std::string> read() {
    const auto whole = alternation(0, false);
    if (!whole || !rest_.empty()) return std::nullopt;
    return whole->text;
  }

 private:
  bool take(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  std::optional<char32_t> take_character() {
    if (rest_.empty()) return std::nullopt;
    const CodePoint point = decode_utf8(rest_);
    if (!point.valid) return std::nullopt;
    rest_.remove_prefix(point.size);
    return point.value;
  }

  // Parses a|b|c up to a closing bracket or the end.
  std::optional<Form> alternation(int depth, bool ignore_case) {
    if (depth > max_depth) return std::nullopt;
    std::vector<Form> alternatives;
    do {
      auto one = sequence(depth, ignore_case);
      if (!one) return std::nullopt;
      alternatives.push_back(std::move(*one));
    } while (take("|"));
    name_contractions(alternatives);
    simplify(alternatives);
    if (alternatives.size() == 1) return alternatives.front();
    Form form;
    form.atomic = false;
    Words words;
    bool finite = true;
    for (const Form& one : alternatives) {
      if (!form.text.empty() || &one != &alternatives.front()) form.text += '|';
      form.text += one.text;
      finite = finite && one.words && words.size() + one.words->size() <= max_words;
      if (finite) words.insert(words.end(), one.words->begin(), one.words->end());
    }
    if (finite) form.words = order_free(std::move(words));

    return form;
  }

  // Replaces runs of alternatives that together are the contractions by their name.
  static void name_contractions(std::vector<Form>& alternatives) {
    for (std::size_t first = 0; first < alternatives.size(); ++first) {
      Words words;
      for (std::size_t i = first; i < alternatives.size() && alternatives[i].words; ++i) {
        words.insert(words.end(), alternatives[i].words->begin(), alternatives[i].words->end());
        if (words.size() > max_words) break;
        const auto sorted = order_free(words);
        const std::string_view name = sorted ? contractions_name(*sorted) : "";
        if (name.empty()) continue;
        alternatives[first] = {std::string(name), sorted, true};
        alternatives.erase(alternatives.begin() + static_cast<std::ptrdiff_t>(first + 1),
                           alternatives.begin() + static_cast<std::ptrdiff_t>(i + 1));
        break;
      }
    }
  }

  std::optional<Form> sequence(int depth, bool ignore_case) {
    Form form;
    form.words = Words{""};
    std::size_t atoms = 0;
    while (!rest_.empty() && rest_.front() != '|' && rest_.front() != ')') {
      if (take("(?i)")) {
        ignore_case = true;
        continue;
      }
      auto one = atom(depth, ignore_case);
      if (!one) return std::nullopt;
      const std::string quantifier = read_quantifier();
      if (quantifier.empty()) {
        // An alternation next to something else needs brackets; named words do not.
        const bool alone = atoms == 0 && (rest_.empty() || rest_.front() == '|' || rest_.front() == ')');
        form.text +=
            one->text.find('|') == std::string::npos || one->atomic || alone ? one->text : "(?:" + one->text + ")";
        form.words = product(form.words, one->words);
        form.atomic = one->atomic;
      } else {
        form.text += one->atomic ? one->text : "(?:" + one->text + ")";
        form.text += quantifier;
        form.words.reset();
        form.atomic = false;
      }
      ++atoms;
    }
    if (atoms != 1) form.atomic = false;
    return form;
  }

  std::string read_quantifier() {
    std::string text;
    if (take("?"))
      text = "?";
    else if (take("*"))
      text = "*";
    else if (take("+"))
      text = "+";
    else if (rest_.starts_with('{'))
      text = counted();
    if (text.empty()) return text;
    if (text.size() > 1) {
      // Oniguruma reads {n,m}+ as a repetition of the repetition, not as a possessive quantifier.
      const bool repeated = take("+");
      if (text == "{1}") return repeated ? "+" : "";
      return !repeated ? text : text.starts_with("{1,") ? "+" : text + "+";
    }
    if (take("+")) return text;
    if (take("?")) text += '?';
    return text;
  }

  // Parses {n}, {n,} or {n,m}; anything else is not a quantifier.
  std::string counted() {
    const std::size_t end = rest_.find('}');
    if (end == std::string_view::npos) return "";
    const std::string body(rest_.substr(1, end - 1));
    if (body.empty() || body.find_first_not_of("0123456789,") != std::string::npos || body.front() == ',') return "";
    rest_.remove_prefix(end + 1);
    if (body == "0,1") return "?";
    if (body == "0,") return "*";
    if (body == "1,") return "+";
    if (body == "1" || body == "1,1") return "{1}";
    return "{" + body + "}";
  }

  std::optional<Form> atom(int depth, bool ignore_case) {
    if (take("(")) return group(depth, ignore_case);
    if (take("[")) {
      const auto set = character_class(depth, ignore_case);
      return set ? std::optional(of_class(*set)) : std::nullopt;
    }
    if (take("\\")) return escape(ignore_case);
    if (rest_.front() == '.' || rest_.front() == '^' || rest_.front() == '$') {
      Form form{std::string(rest_.substr(0, 1)), std::nullopt, true};
      rest_.remove_prefix(1);
      return form;
    }
    if (std::string_view("?*+").find(rest_.front()) != std::string_view::npos) return std::nullopt;
    const auto value = take_character();
    if (!value) return std::nullopt;
    return literal(*value, ignore_case);
  }

  static Form of_class(const RegexClass& set) { return {set.form(), set.members(8), true}; }
  static Form literal(char32_t value, bool ignore_case) {
    RegexClass set;
    set.add(value, value);
    if (ignore_case) set.ignore_case();
    return of_class(set);
  }

  std::optional<Form> group(int depth, bool ignore_case) {
    std::string_view look;
    for (const std::string_view sign : {"?=", "?!", "?<=", "?<!", "?>"}) {
      if (look.empty() && take(sign)) look = sign;
    }
    if (look.empty()) {
      if (take("?i:"))
        ignore_case = true;
      else if (!take("?:") && rest_.starts_with('?'))
        return std::nullopt;
    }
    auto inner = alternation(depth + 1, ignore_case);
    if (!inner || !take(")")) return std::nullopt;
    if (look.empty()) return inner;
    return Form{"(" + std::string(look) + inner->text + ")", std::nullopt, true};
  }

  // The meaning of an escape: a property or a single character.
  struct Escaped {
    std::string property;
    char32_t value = 0;
  };
  std::optional<Escaped> escaped() {
    const auto letter = take_character();
    if (!letter) return std::nullopt;
    switch (*letter) {
      case 'n': return Escaped{"", '\n'};
      case 'r': return Escaped{"", '\r'};
      case 't': return Escaped{"", '\t'};
      case 'f': return Escaped{"", '\f'};
      case 'v': return Escaped{"", '\v'};
      case 'd': return Escaped{"\\p{Nd}"};
      case 'D': return Escaped{"\\P{Nd}"};
      case 's':
      case 'S':
      case 'w':
      case 'W': return Escaped{std::string("\\") + static_cast<char>(*letter)};
      case 'p':
      case 'P': return property(*letter == 'P');
      case 'x':
      case 'u': return code_point(*letter);
      default: break;
    }
    const bool plain =
        (*letter >= 'a' && *letter <= 'z') || (*letter >= 'A' && *letter <= 'Z') || (*letter >= '0' && *letter <= '9');
    if (plain) return std::nullopt;
    return Escaped{"", *letter};
  }

  std::optional<Escaped> property(bool negated) {
    if (!take("{")) return std::nullopt;
    const std::size_t end = rest_.find('}');
    if (end == std::string_view::npos) return std::nullopt;
    std::string name(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    if (name.starts_with("^")) {
      name.erase(0, 1);
      negated = !negated;
    }
    for (const std::string_view prefix : {"Script=", "sc=", "Is"}) {
      if (name.starts_with(prefix)) name.erase(0, prefix.size());
    }
    constexpr std::array<std::pair<std::string_view, std::string_view>, 5> long_names = {
        {{"Letter", "L"}, {"Mark", "M"}, {"Number", "N"}, {"Punctuation", "P"}, {"Symbol", "S"}}};
    for (const auto& [spelled, brief] : long_names) {
      if (name == spelled) name = brief;
    }
    return Escaped{(negated ? "\\P{" : "\\p{") + name + "}"};
  }

  // Parses \xHH, \x{…} or \uHHHH.
  std::optional<Escaped> code_point(char32_t kind) {
    std::size_t digits = kind == 'u' ? 4 : 2;
    const bool braces = take("{");
    if (braces) {
      digits = rest_.find('}');
      if (digits == std::string_view::npos || digits > 8) return std::nullopt;
    }
    if (digits == 0 || rest_.size() < digits) return std::nullopt;
    char32_t value = 0;
    for (const char c : rest_.substr(0, digits)) {
      const std::size_t digit =
          std::string_view("0123456789abcdef").find(static_cast<char>(c >= 'A' && c <= 'F' ? c | 0x20 : c));
      if (digit == std::string_view::npos || value > 0x10FFFF) return std::nullopt;
      value = value * 16 + static_cast<char32_t>(digit);
    }
    rest_.remove_prefix(digits + (braces ? 1 : 0));
    if (value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) return std::nullopt;
    return Escaped{"", value};
  }

  std::optional<Form> escape(bool ignore_case) {
    for (const std::string_view anchor : {"b", "B", "A", "z", "Z"}) {
      if (take(anchor)) return Form{"\\" + std::string(anchor), std::nullopt, true};
    }
    const auto one = escaped();
    if (!one) return std::nullopt;
    return one->property.empty() ? literal(one->value, ignore_case) : Form{one->property, std::nullopt, true};
  }

  std::optional<RegexClass> character_class(int depth, bool ignore_case) {
    if (depth > max_depth) return std::nullopt;
    RegexClass set;
    if (take("^")) set.negate();
    if (rest_.starts_with(']')) return std::nullopt;  // engines interpret this differently
    while (!take("]")) {
      if (rest_.empty()) return std::nullopt;
      if (take("&&")) {
        // The right side of && extends to the end of the class.
        const bool nested = take("[");
        auto other = character_class(depth + 1, ignore_case);
        if (!other || (nested && !take("]"))) return std::nullopt;
        set.intersect(*other);
        break;
      }
      if (take("[")) {
        const auto nested = character_class(depth + 1, ignore_case);
        if (!nested) return std::nullopt;
        set.add_class(*nested);
        continue;
      }
      if (!add_member(set)) return std::nullopt;
    }
    if (ignore_case) set.ignore_case();
    return set;
  }

  // Adds x, x-y or a property.
  bool add_member(RegexClass& set) {
    auto low = member();
    if (!low) return false;
    if (!low->property.empty()) {
      set.add_property(std::move(low->property));
      return true;
    }
    if (rest_.size() > 1 && rest_[0] == '-' && rest_[1] != ']') {
      rest_.remove_prefix(1);
      const auto high = member();
      if (!high || !high->property.empty()) return false;
      set.add(low->value, high->value);
      return true;
    }
    set.add(low->value, low->value);
    return true;
  }
  std::optional<Escaped> member() {
    if (take("\\")) return escaped();
    const auto value = take_character();
    return value ? std::optional(Escaped{"", *value}) : std::nullopt;
  }

  std::string_view rest_;
};

std::string as_it_is(std::string_view regex) {
  std::string text;
  for (const char c : regex) {
    if (c == '\n')
      text += "\\n";
    else if (c == '\r')
      text += "\\r";
    else if (c == '\t')
      text += "\\t";
    else
      text += c;
  }
  return text;
}

}  // namespace

std::string regex_form(std::string_view regex) {
  if (regex.size() > max_regex) return as_it_is(regex);
  const auto form = RegexReader(regex).read();
  return form ? *form : as_it_is(regex);
}

std::string regex_of_text(std::string_view text) {
  std::string regex;
  while (!text.empty()) {
    const CodePoint point = decode_utf8(text);
    if (point.valid) regex += regex_literal(point.value, false);
    text.remove_prefix(point.size);
  }
  return regex;
}

}  // namespace modelutils::tokenizer
