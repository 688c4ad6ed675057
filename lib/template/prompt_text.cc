#include "template/prompt_text.h"

#include <algorithm>
#include <set>

#include "template/suspicious_names.h"
#include "template/tree_walk.h"

namespace modelutils::jinja {

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
