#include "template/prompt_text.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "template/literals.h"
#include "template/syntax.h"

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

namespace {

class Mention : public TreeWalk {
 public:
  Mention(std::string_view variable, std::string_view text) : variable_(variable), text_(text) {}
  bool is_found = false;

 private:
  void look(std::string_view text) { is_found = is_found || (!text_.empty() && text.find(text_) != text.npos); }
  void enter(const Statement& statement) override {
    if (statement.kind == StatementKind::data) look(statement.text);
  }
  void visit(const Expression& expression) override {
    if (expression.kind == ExpressionKind::name) is_found = is_found || expression.text == variable_;
    if (expression.kind == ExpressionKind::constant && expression.constant.is(Kind::text))
      look(expression.constant.view());
  }

  const std::string_view variable_;
  const std::string_view text_;
};

// Collects markers in text that is printed or assigned, but not in text that is only compared, searched for or passed
// to a method.
class Markers : public TreeWalk {
 public:
  std::vector<std::string> take() { return std::move(found_); }

 private:
  static constexpr std::size_t most_markers = 500;
  static constexpr std::size_t most_bytes = 64;

  void enter(const Statement& statement) override {
    if (statement.kind == StatementKind::data) scan(statement.text);
    if (statement.kind == StatementKind::print || statement.kind == StatementKind::set) write(statement.value);
  }

  void write(const Expression* value) {
    if (value == nullptr) return;
    const auto& operands = value->operands;
    switch (value->kind) {
      case ExpressionKind::constant:
        if (value->constant.is(Kind::text)) scan(value->constant.view());
        break;
      case ExpressionKind::choice:
        write(operands[1]);
        write(operands[2]);
        break;
      case ExpressionKind::filter: write(operands.front()); break;
      case ExpressionKind::call:
        if (operands.front()->kind != ExpressionKind::name) break;  // only calls of a name: a macro or namespace()
        for (const Expression* argument : value->arguments.positional) write(argument);
        for (const auto& [name, argument] : value->arguments.named) write(argument);
        break;
      case ExpressionKind::add:
      case ExpressionKind::concat:
      case ExpressionKind::either:
      case ExpressionKind::both:
      case ExpressionKind::list:
      case ExpressionKind::tuple:
      case ExpressionKind::dict:
        for (const Expression* operand : operands) write(operand);
        break;
      default: break;
    }
  }

  void scan(std::string_view text) {
    for (std::size_t begin = text.find_first_of("<["); begin != text.npos && found_.size() < most_markers;
         begin = text.find_first_of("<[", begin + 1)) {
      const char open = text[begin], close = open == '<' ? '>' : ']';
      bool has_word = false;
      for (std::size_t end = begin + 1; end < std::min(text.size(), begin + most_bytes); ++end) {
        const char c = text[end];
        if (c == close) {
          if (has_word) add(text.substr(begin, end + 1 - begin));
          break;
        }
        if (static_cast<u8>(c) <= ' ' || c == open) break;
        has_word = has_word || is_ascii_word(c) || static_cast<u8>(c) >= 0x80;
      }
    }
  }

  void add(std::string_view marker) {
    if (seen_.emplace(marker).second) found_.emplace_back(marker);
  }

  std::vector<std::string> found_;
  std::set<std::string, std::less<>> seen_;
};

// Follows the fixed text at the beginning of a prompt, up to the first unknown value.
class PromptStart {
 public:
  explicit PromptStart(std::string_view bos) : bos_(bos) {}

  std::optional<LateBos> found() const { return found_; }

  // Returns false if the text that follows is unknown.
  bool follow(const Body& body) {
    for (const Statement* statement : body) {
      if (!follow(*statement)) return false;
    }
    return true;
  }

 private:
  bool follow(const Statement& statement) {
    switch (statement.kind) {
      case StatementKind::data: return write(statement.text, statement.at);
      case StatementKind::print: return follow(*statement.value);
      case StatementKind::set:
      case StatementKind::set_block:
      case StatementKind::macro:  // these write nothing
        return statement.target == nullptr || statement.target->text != "bos_token";
      case StatementKind::generation:
      case StatementKind::block: return follow(statement.function->body);
      case StatementKind::with: return follow(statement.body);
      case StatementKind::loop:
        is_in_loop_ = true;
        follow(statement.body);
        return false;
      case StatementKind::condition: return is_in_loop_ ? false : follow_branches(statement);
      default: return false;
    }
  }

  // Follows each branch separately. Conditions in loops are skipped: the first round may not meet them.
  bool follow_branches(const Statement& condition) {
    const PromptStart before = *this;
    const auto follow_one = [&](const Body& body) {
      if (found_) return;
      PromptStart branch = before;
      branch.follow(body);
      found_ = branch.found_;
    };
    follow_one(condition.body);
    for (const Statement* other : condition.elifs) follow_one(other->body);
    follow_one(condition.otherwise);
    return false;
  }

  bool follow(const Expression& value) {
    switch (value.kind) {
      case ExpressionKind::constant: return value.constant.is(Kind::text) && write(value.constant.view(), value.at);
      case ExpressionKind::name: return value.text == "bos_token" && write_bos(value.at);
      case ExpressionKind::add:
      case ExpressionKind::concat:
        for (const Expression* operand : value.operands) {
          if (!follow(*operand)) return false;
        }
        return true;
      default: return false;
    }
  }

  bool write(std::string_view text, std::size_t at) {
    while (!text.empty()) {
      const std::size_t next = bos_.empty() ? text.npos : text.find(bos_);
      if (next != 0 && !write_other()) return false;
      if (next == text.npos) return true;
      if (!write_bos(at + next)) return false;
      text.remove_prefix(next + bos_.size());
      at += next + bos_.size();
    }
    return true;
  }

  bool write_other() {
    has_text_ = true;
    return !has_bos_;
  }

  bool write_bos(std::size_t at) {
    if (has_bos_ || has_text_) found_ = LateBos{has_bos_, at};
    has_bos_ = true;
    return !found_;
  }

  std::string_view bos_;
  bool has_bos_ = false;
  bool has_text_ = false;
  bool is_in_loop_ = false;
  std::optional<LateBos> found_;
};

}  // namespace

bool mentions(const Template& parsed, std::string_view variable, std::string_view text) {
  Mention mention(variable, text);
  mention.walk(parsed.root().body);
  return mention.is_found;
}

std::vector<std::string> written_markers(const Template& parsed) {
  Markers markers;
  markers.walk(parsed.root().body);
  return markers.take();
}

std::optional<LateBos> late_bos(const Template& parsed, std::string_view bos) {
  PromptStart start(bos);
  start.follow(parsed.root().body);
  return start.found();
}

}  // namespace modelutils::jinja
