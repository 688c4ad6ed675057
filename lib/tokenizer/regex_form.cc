#include "tokenizer/regex_form.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/utf8.h"
#include "tokenizer/regex_syntax.h"

namespace modelutils::tokenizer {

namespace {

// The finite set of texts that a part of a regex matches. Larger sets are not listed.
using Words = std::vector<std::string>;
constexpr std::size_t max_words = 64;
constexpr std::size_t max_members = 8;  // of a class that is listed

// Returns every left word followed by every right word; nullopt if one side is not listed or the result is too large.
std::optional<Words> product(const std::optional<Words>& left, const std::optional<Words>& right) {
  if (!left || !right || left->size() * right->size() > max_words) return std::nullopt;
  Words words;
  for (const std::string& a : *left) {
    for (const std::string& b : *right) words.push_back(a + b);
  }
  return words;
}

// Returns the words sorted, without duplicates. Returns nullopt if a word is a prefix of another, because then the
// order of the alternatives matters.
std::optional<Words> order_free(Words words) {
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i].starts_with(words[i - 1])) return std::nullopt;
  }
  return words;
}

// Returns "<c>" if `words` (sorted) are the English contractions 's 't 're 've 'm 'll 'd, "<C>" if they are these in
// both cases, else an empty text.
std::string_view contractions_name(const Words& words) {
  static const auto spelled = [](bool both_cases) {
    Words all;
    for (const std::string_view ending : {"s", "t", "re", "ve", "m", "ll", "d"}) {
      std::optional<Words> forms = Words{"'"};
      for (const char c : ending) {
        Words cases = {std::string(1, c)};
        if (both_cases) cases.emplace_back(1, static_cast<char>(c ^ 0x20));
        forms = product(forms, cases);
      }
      all.insert(all.end(), forms->begin(), forms->end());
    }
    std::sort(all.begin(), all.end());
    return all;
  };
  static const Words small = spelled(false), both = spelled(true);
  return words == small ? "<c>" : words == both ? "<C>" : "";
}

// Spells one character as in a regex, outside or inside a class.
std::string literal(char32_t value, bool in_class) {
  if (value == '\n') return "\\n";
  if (value == '\r') return "\\r";
  if (value == '\t') return "\\t";
  if (value < 0x20 || (value >= 0x7F && value < 0xA0)) return fmt::format("\\x{:02X}", static_cast<u32>(value));
  std::string text;
  const std::string_view special = in_class ? "\\[]^-&" : "\\[](){}.*+?^$|<>";
  if (value < 0x80 && special.find(static_cast<char>(value)) != std::string_view::npos) text += '\\';
  append_utf8(text, value);
  return text;
}

// A set of characters in canonical order.
class ClassForm {
 public:
  explicit ClassForm(const RegexSet& set) : negated_(set.negated) {
    add(set);
    for (const RegexSet& other : set.common) common_.push_back(ClassForm(other).text());
    join_categories();
  }

  // "x", "\s", "[a-z\s]", "[^\n\r]", …
  std::string text() const {
    if (common_.empty() && ranges_.empty() && properties_.size() == 1 && properties_.begin()->front() == '\\') {
      std::string property = *properties_.begin();
      if (negated_) property[1] = static_cast<char>(property[1] ^ 0x20);  // \s and \S, \p{X} and \P{X}
      return property;
    }
    if (common_.empty() && properties_.empty() && !negated_ && ranges_.size() == 1 &&
        ranges_.begin()->first == ranges_.begin()->second) {
      return literal(ranges_.begin()->first, false);
    }
    std::string text = negated_ ? "[^" : "[";
    for (const auto& [first, last] : ranges_) {
      text += literal(first, true);
      if (last == first) continue;
      if (last > first + 1) text += '-';
      text += literal(last, true);
    }
    for (const std::string& property : properties_) text += property;
    for (const std::string& other : common_) text += "&&" + other;
    return text + "]";
  }

  // Returns the members if they are few and the set has only ranges; else nullopt.
  std::optional<Words> members() const {
    if (negated_ || !properties_.empty() || !common_.empty()) return std::nullopt;
    Words members;
    for (const auto& [first, last] : ranges_) {
      if (last - first >= max_members) return std::nullopt;
      for (char32_t value = first; value <= last; ++value) append_utf8(members.emplace_back(), value);
      if (members.size() > max_members) return std::nullopt;
    }
    return members;
  }

 private:
  void add(const RegexSet& set) {
    for (const auto& [first, last] : set.ranges) add_range(first, last);
    for (const std::string& property : set.properties) {
      properties_.insert(property == "\\d" ? "\\p{Nd}" : property == "\\D" ? "\\P{Nd}" : property);
    }
    for (const RegexSet& nested : set.nested) {
      if (nested.negated || !nested.common.empty()) {
        properties_.insert(ClassForm(nested).text());
      } else {
        add(nested);
      }
    }
  }

  // Joins the range with those that it overlaps or touches.
  void add_range(char32_t first, char32_t last) {
    auto at = ranges_.upper_bound(first);
    if (at != ranges_.begin() && std::prev(at)->second + 1 >= first) --at;
    while (at != ranges_.end() && at->first <= last + 1) {
      first = std::min(first, at->first);
      last = std::max(last, at->second);
      at = ranges_.erase(at);
    }
    ranges_.emplace(first, last);
  }

  // Replaces all subcategories of a general category of Unicode by the category, and removes those beside it.
  void join_categories() {
    for (const std::string_view parts : {"Lltmou", "Mcen", "Ndlo", "Pcdefios", "Sckmo"}) {
      const std::string whole = fmt::format("\\p{{{}}}", parts.front());
      Words all;
      for (const char part : parts.substr(1)) all.push_back(fmt::format("\\p{{{}{}}}", parts.front(), part));
      const bool is_complete =
          std::all_of(all.begin(), all.end(), [&](const auto& part) { return properties_.count(part) != 0; });
      if (is_complete) properties_.insert(whole);
      if (properties_.count(whole) == 0) continue;
      for (const std::string& part : all) properties_.erase(part);
    }
  }

  std::map<char32_t, char32_t> ranges_;  // first and last
  std::set<std::string> properties_;
  Words common_;  // forms of the sets right of &&
  bool negated_;
};

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

// Replaces runs of alternatives that together are the contractions by their name.
void name_contractions(std::vector<Form>& alternatives) {
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

std::string quantifier(const RegexNode& node) {
  const bool is_unlimited = node.most == RegexNode::no_limit;
  std::string text;
  if (node.least == 0 && node.most == 1) {
    text = "?";
  } else if (node.least <= 1 && is_unlimited) {
    text = node.least == 0 ? "*" : "+";
  } else if (node.least == node.most) {
    text = fmt::format("{{{}}}", node.least);
  } else {
    text = is_unlimited ? fmt::format("{{{},}}", node.least) : fmt::format("{{{},{}}}", node.least, node.most);
  }
  return text + node.sign;
}

std::string in_group(const std::string& text) {
  return "(?:" + text + ")";
}

Form form_of(const RegexNode& node);

Form form_of_alternatives(const RegexNode& node) {
  std::vector<Form> alternatives;
  for (const RegexNode& child : node.children) alternatives.push_back(form_of(child));
  name_contractions(alternatives);
  simplify(alternatives);
  if (alternatives.size() == 1) return std::move(alternatives.front());
  Form form{.text = {}, .words = {}, .atomic = false};
  Words words;
  bool finite = true;
  for (const Form& one : alternatives) {
    if (&one != &alternatives.front()) form.text += '|';
    form.text += one.text;
    finite = finite && one.words && words.size() + one.words->size() <= max_words;
    if (finite) words.insert(words.end(), one.words->begin(), one.words->end());
  }
  if (finite) form.words = order_free(std::move(words));
  return form;
}

Form form_of_sequence(const RegexNode& node) {
  Form form{.text = {}, .words = Words{""}, .atomic = node.children.size() == 1};
  for (const RegexNode& child : node.children) {
    const Form one = form_of(child);
    // An alternation next to something else needs brackets; named words do not.
    const bool may_stand = one.atomic || node.children.size() == 1 || one.text.find('|') == std::string::npos;
    form.text += may_stand || child.kind == RegexNode::Kind::repeat ? one.text : in_group(one.text);
    form.words = product(form.words, one.words);
    form.atomic = form.atomic && one.atomic;
  }
  return form;
}

Form form_of(const RegexNode& node) {
  switch (node.kind) {
    case RegexNode::Kind::one: {
      const ClassForm set(node.set);
      return {set.text(), set.members(), true};
    }
    case RegexNode::Kind::sign: return {node.sign, std::nullopt, true};
    case RegexNode::Kind::look:
      return {"(" + node.sign + form_of(node.children.front()).text + ")", std::nullopt, true};
    case RegexNode::Kind::repeat: {
      const Form body = form_of(node.children.front());
      return {(body.atomic ? body.text : in_group(body.text)) + quantifier(node), std::nullopt, false};
    }
    case RegexNode::Kind::sequence: return form_of_sequence(node);
    case RegexNode::Kind::alternatives: break;
  }
  return form_of_alternatives(node);
}

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
  const std::optional<RegexNode> node = parse_regex(regex);
  return node ? form_of(*node).text : as_it_is(regex);
}

std::string regex_of_text(std::string_view text) {
  std::string regex;
  while (!text.empty()) {
    const CodePoint point = decode_utf8(text);
    if (point.valid) regex += literal(point.value, false);
    text.remove_prefix(point.size);
  }
  return regex;
}

}  // namespace modelutils::tokenizer
