#include "template/unrendered.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "template/suspicious_names.h"
#include "template/tree_walk.h"

namespace modelutils::jinja {

namespace {

constexpr std::ptrdiff_t fewest_letters = 12;  // shorter texts are names and punctuation

bool is_sentence(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return is_ascii_word(c) && c != '_'; }) >= fewest_letters;
}

// Returns the result of one comparison of two constants: 1 == 2, 'a' != 'a'.
std::optional<bool> fixed_comparison(const Expression& value) {
  if (value.operands.size() != 2) return std::nullopt;
  const Expression &left = *value.operands[0], &right = *value.operands[1];
  if (left.kind != ExpressionKind::constant || right.kind != ExpressionKind::constant) return std::nullopt;
  const Value &a = left.constant, &b = right.constant;
  std::optional<bool> equal;
  if (a.is(Kind::integer) && b.is(Kind::integer)) equal = a.integer() == b.integer();
  if (a.is(Kind::text) && b.is(Kind::text)) equal = a.view() == b.view();
  if (!equal) return std::nullopt;
  if (value.comparisons.front() == Comparison::equal) return *equal;
  return value.comparisons.front() == Comparison::not_equal ? std::optional(!*equal) : std::nullopt;
}

// A variable, macro or namespace attribute; the text points into the template.
struct Name {
  std::string_view text;
  bool is_attribute = false;

  bool is_none() const { return text.empty() && !is_attribute; }
  friend bool operator==(const Name& a, const Name& b) { return a.is_attribute == b.is_attribute && a.text == b.text; }
  friend bool operator<(const Name& a, const Name& b) {
    return a.is_attribute != b.is_attribute ? b.is_attribute : a.text < b.text;
  }
};

// Collects which names are assigned text and which names are read where.
class NameUse : public TreeWalk {
 public:
  explicit NameUse(const Body& body) { walk(body); }

  std::vector<UnusedText> unused() {
    if (texts_.empty()) return {};
    // Ignore reads of names that the template never assigns.
    std::sort(given_.begin(), given_.end());
    std::set<Name> read;
    std::map<Name, std::vector<Name>> reads_of;
    for (const Read& one : reads_) {
      if (!std::binary_search(given_.begin(), given_.end(), one.name)) continue;
      if (one.by.is_none()) {
        read.insert(one.name);
      } else {
        reads_of[one.by].push_back(one.name);
      }
    }
    std::vector<Name> open(read.begin(), read.end());
    while (!open.empty()) {
      const auto known = reads_of.find(open.back());
      open.pop_back();
      if (known == reads_of.end()) continue;
      for (const Name& name : known->second) {
        if (read.insert(name).second) open.push_back(name);
      }
    }
    std::vector<UnusedText> unused;
    Name said;
    for (const Owner& text : texts_) {
      const bool may_be_read = reads_any_attribute_ && text.name.is_attribute;
      if (text.name == said || may_be_read || read.contains(text.name)) continue;
      said = text.name;
      unused.push_back({std::string(text.name.text), text.at, text.is_macro});
    }
    return unused;
  }

 private:
  // An assignment or macro.
  struct Owner {
    Name name;
    std::size_t at = 0;
    bool is_macro = false;
  };

  struct Read {
    Name by;  // the name being assigned; none if it is printed
    Name name;
  };

  static Name name_of(const Expression* target) {
    if (target == nullptr) return {};
    if (target->kind == ExpressionKind::member) return {target->text, true};
    return target->kind == ExpressionKind::name ? Name{target->text} : Name();
  }

  static bool gives_name(const Statement& statement) {
    return statement.kind == StatementKind::set || statement.kind == StatementKind::set_block ||
           statement.kind == StatementKind::macro;
  }

  void enter(const Statement& statement) override {
    if (gives_name(statement)) {
      owners_.push_back({name_of(statement.target), statement.at, statement.kind == StatementKind::macro});
      given_.push_back(owners_.back().name);
    } else if (statement.kind == StatementKind::data && is_sentence(statement.text)) {
      say_text();
    }
  }
  void leave(const Statement& statement) override {
    if (gives_name(statement)) owners_.pop_back();
  }

  void visit(const Expression& expression) override {
    switch (expression.kind) {
      case ExpressionKind::constant:
        if (expression.constant.is(Kind::text)) {
          if (is_sentence(expression.constant.view())) say_text();
          read({expression.constant.view(), true});  // may be used as a subscript
        }
        break;
      case ExpressionKind::name:
        if (!expression.is_store) read({expression.text});
        break;
      case ExpressionKind::attribute: read({expression.text, true}); break;
      case ExpressionKind::item: {
        const ExpressionKind subscript = expression.operands[1]->kind;
        const bool is_plain = subscript == ExpressionKind::constant || subscript == ExpressionKind::slice;
        reads_any_attribute_ = reads_any_attribute_ || !is_plain;
        break;
      }
      default: break;
    }
  }

  // Records a read by the innermost assignment, or by the prompt.
  void read(const Name& name) { reads_.push_back({owners_.empty() ? Name() : owners_.back().name, name}); }

  void say_text() {
    if (owners_.empty() || owners_.back().name.is_none()) return;
    texts_.push_back(owners_.back());
  }

  std::vector<Owner> owners_;  // the enclosing assignments
  std::vector<Owner> texts_;
  std::vector<Name> given_;  // all assigned names
  std::vector<Read> reads_;
  bool reads_any_attribute_ = false;
};

}  // namespace

std::optional<bool> fixed_truth(const Expression& value) {
  if (value.kind == ExpressionKind::negation) {
    const auto inner = fixed_truth(*value.operands.front());
    return inner ? std::optional(!*inner) : std::nullopt;
  }
  if (value.kind == ExpressionKind::both || value.kind == ExpressionKind::either) {
    const auto left = fixed_truth(*value.operands[0]), right = fixed_truth(*value.operands[1]);
    const bool deciding = value.kind == ExpressionKind::either;
    if (left == deciding || right == deciding) return deciding;
    return left && right ? std::optional(!deciding) : std::nullopt;
  }
  if (value.kind == ExpressionKind::compare) return fixed_comparison(value);
  if (value.kind == ExpressionKind::list || value.kind == ExpressionKind::tuple) return !value.operands.empty();
  if (value.kind != ExpressionKind::constant) return std::nullopt;
  const Value& constant = value.constant;
  if (constant.is(Kind::boolean)) return constant.boolean();
  if (constant.is(Kind::none)) return false;
  if (constant.is(Kind::integer)) return constant.integer() != 0;
  if (constant.is(Kind::text)) return !constant.view().empty();
  return std::nullopt;
}

bool has_words(const Body& body) {
  return std::any_of(body.begin(), body.end(),
                     [](const Statement* one) { return one->kind == StatementKind::data && is_sentence(one->text); });
}

std::vector<UnusedText> unused_texts(const Body& body) {
  return NameUse(body).unused();
}

}  // namespace modelutils::jinja
