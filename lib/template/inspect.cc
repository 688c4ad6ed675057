#include "template/inspect.h"

#include <fmt/core.h>

#include <cmath>

#include "base/escape.h"
#include "template/interpreter.h"
#include "template/literals.h"
#include "template/prompt_text.h"
#include "template/syntax.h"
#include "template/tokens.h"

namespace modelutils::jinja {

namespace {

constexpr std::size_t most_remarks = 50;
constexpr double large_number = 1'000'000;
constexpr double largest_number = 1e36;
constexpr double most_rounds = 10'000'000;
constexpr double most_in_range = 100'000;  // the limit of Jinja's sandbox

// True for widths of six or more digits: "%1000000s", "{:1000000}".
bool has_large_width(std::string_view text) {
  std::size_t digits = 0;
  bool is_field = false;
  for (const char c : text) {
    const bool is_digit = c >= '0' && c <= '9';
    if (c == '%' || c == '{') is_field = true;
    digits = is_digit && is_field ? digits + 1 : 0;
    if (digits >= 6) return true;
    if (is_ascii_word(c) && !is_digit) is_field = false;
  }
  return false;
}

bool is_format(std::string_view name) {
  return name == "format" || name == "format_map";
}

bool is_text(const Expression& expression) {
  return expression.kind == ExpressionKind::constant && expression.constant.is(Kind::text);
}

// Counts how often a sum or concatenation contains the variable itself.
std::size_t count_of(const Expression& value, const Expression& target) {
  const bool is_join = value.kind == ExpressionKind::add || value.kind == ExpressionKind::concat;
  if (!is_join) {
    const auto kind = target.kind == ExpressionKind::member ? ExpressionKind::attribute : ExpressionKind::name;
    return value.kind == kind && value.text == target.text ? 1 : 0;
  }
  std::size_t count = 0;
  for (const Expression* operand : value.operands) count += count_of(*operand, target);
  return count;
}

class Inspector : public TreeWalk {
 public:
  Inspector(const Template& parsed, std::string_view original)
      : source_(parsed.source()), original_(original), literals_(parsed.root().body) {
    walk(parsed.root().body);
    for (const UnusedText& text : unused_texts(parsed.root().body)) {
      say("template-unused", text.at,
          fmt::format("text that is never rendered: nothing {} '{}'", text.is_macro ? "calls" : "reads",
                      shown(text.name)),
          true);
    }
  }

  std::vector<Remark> take() { return std::move(remarks_); }

 private:
  template <typename Message>
  void say(std::string_view code, std::size_t at, const Message& message, bool is_note = false) {
    if (remarks_.size() == most_remarks) return;
    remarks_.push_back({code, position(source_, at).text() + ": " + message, original_offset(original_, at), is_note});
  }

  void enter(const Statement& statement) override {
    switch (statement.kind) {
      case StatementKind::load:
        say("template-import", statement.at,
            fmt::format("the chat template loads another file or module ({})", statement.text));
        break;
      case StatementKind::loop: {
        const double rounds = rounds_of(*statement.value);
        rounds_.push_back((rounds_.empty() ? 1 : rounds_.back()) * std::max(rounds, 1.0));
        if (rounds_.back() > most_rounds && (rounds_.size() == 1 || rounds_[rounds_.size() - 2] <= most_rounds)) {
          say("template-size", statement.at,
              fmt::format("the loop runs {:.0f} times: too large for a prompt", rounds_.back()));
        }
        if (fixed_truth(*statement.value) == false) check_reach(statement.body, statement.at);
        break;
      }
      case StatementKind::condition: {
        const std::optional<bool> truth = fixed_truth(*statement.value);
        if (truth == false) check_reach(statement.body, statement.at);
        if (truth == true) check_reach(statement.otherwise, statement.at);
        break;
      }
      case StatementKind::set: check_growth(statement); break;
      default: break;
    }
  }
  void leave(const Statement& statement) override {
    if (statement.kind == StatementKind::loop) rounds_.pop_back();
  }

  void check_reach(const Body& body, std::size_t at) {
    if (!has_words(body)) return;
    say("template-unreachable", at, "text that is never rendered: a reader would take it for part of the prompt");
  }

  void check_growth(const Statement& set) {
    if (around().loops == 0) return;
    const bool doubles = count_of(*set.value, *set.target) > 1;
    if (doubles) say("template-size", set.at, "the text doubles in every iteration of a loop: it grows too large");
  }

  double rounds_of(const Expression& value) {
    const bool is_range = value.kind == ExpressionKind::call && calls_global(*value.operands.front(), "range");
    if (!is_range) return static_cast<double>(value.kind == ExpressionKind::list ? value.operands.size() : 1);
    const auto& arguments = value.arguments.positional;
    if (arguments.empty()) return 1;
    const std::optional<double> first = literals_.number(arguments[0]);
    if (arguments.size() == 1) return first.value_or(1);
    return literals_.number(arguments[1]).value_or(1) - first.value_or(0);
  }

  bool calls_global(const Expression& callee, std::string_view name) const {
    return callee.kind == ExpressionKind::name && callee.text == name && !literals_.is_bound(name);
  }

  void visit(const Expression& expression) override {
    const auto& operands = expression.operands;
    switch (expression.kind) {
      case ExpressionKind::constant: check_text(expression); break;
      case ExpressionKind::attribute: check_access(expression.at, expression.text, *operands[0]); break;
      case ExpressionKind::item:
        if (operands[1]->kind != ExpressionKind::slice) check_item(expression);
        break;
      case ExpressionKind::filter: check_filter(expression); break;
      case ExpressionKind::call: check_call(expression); break;
      case ExpressionKind::multiply: check_product(expression); break;
      case ExpressionKind::power: check_power(expression); break;
      case ExpressionKind::modulo: check_format(operands[0], expression.at); break;
      default: break;
    }
  }

  void check_text(const Expression& expression) {
    if (!expression.constant.is(Kind::text)) return;
    const std::string_view text = expression.constant.view();
    // Only characters written as escapes; others are visible to the check of the source.
    find_hidden(text, [&](std::size_t at, char32_t c) {
      const std::size_t size = decode_utf8(text.substr(at)).size;
      const std::string_view literal = source_.substr(expression.at, text.size() * 10 + 2);
      if (literal.find(text.substr(at, size)) != literal.npos) return true;
      say("template-hidden", expression.at, hidden_message(c));
      return false;
    });
  }

  void say_unsafe(std::size_t at, std::string_view name) {
    say("template-unsafe-name", at, fmt::format("the chat template accesses Python's '{}'", shown(name)));
  }

  void check_item(const Expression& item) {
    const Expression& name = *item.operands[1];
    if (is_text(name)) return check_access(item.at, name.constant.view(), *item.operands[0]);
    if (const std::string joined = literals_.joined(&name); !unsafe_piece(joined).empty()) {
      say_unsafe(item.at, unsafe_piece(joined));
    }
  }

  void check_access(std::size_t at, std::string_view name, const Expression& base) {
    if (is_unsafe(name)) return say_unsafe(at, name);
    const bool is_name = base.kind == ExpressionKind::name && !literals_.is_bound(base.text);
    if (is_name && base.text == "self" && name.starts_with("_")) return say_unsafe(at, name);
    if (is_name && is_global(base.text)) return say_unsafe(at, fmt::format("{}.{}", base.text, name));
    if (is_name && is_module(base.text) && !literals_.is_guarded(base.text)) {
      return say("template-unknown-call", at,
                 fmt::format("the chat template uses the module '{}', which no program provides", base.text));
    }
    if (base.kind != ExpressionKind::call) return;
    const Expression& callee = *base.operands.front();
    const bool is_cycler = calls_global(callee, "cycler");
    const bool is_known = is_cycler && (name == "next" || name == "current" || name == "reset");
    if ((is_cycler || calls_global(callee, "joiner")) && !is_known) {
      say_unsafe(at, fmt::format("{}().{}", callee.text, name));
    }
  }

  void check_format(const Expression* form, std::size_t at) {
    const std::string text = literals_.joined(form);
    if (check_fields(text, at)) return;
    if (has_large_width(text)) say_large(at, "a width");
  }

  bool check_fields(std::string_view text, std::size_t at) {
    const std::string_view name = unsafe_field(text);
    if (name.empty()) return false;
    say("template-unsafe-name", at,
        fmt::format("the chat template accesses Python's '{}' through format", shown(name)));
    return true;
  }

  // Checks a call whose method name may come from a filter, a variable or an item: "'{0.__class__}'|attr('format')".
  void check_method(const Expression& callee, const Expression& call) {
    if (check_fields(literals_.joined(&callee), call.at)) return;
    const bool is_attribute = callee.kind == ExpressionKind::filter && callee.text == "attr";
    if (!is_attribute || callee.arguments.positional.empty()) return;
    if (takes_width(literals_.joined(callee.arguments.positional.front()))) check_width(call.arguments, call.at);
  }

  void check_filter(const Expression& filter) {
    const ArgumentList& arguments = filter.arguments;
    const bool is_join = filter.text == "join";  // its first argument is a separator
    if (is_join || takes_names(filter.text)) {
      const auto check = [&](const Expression* argument) {
        const std::string text = literals_.joined(argument);
        const std::string_view name = is_text(*argument) ? unsafe_part(text) : unsafe_piece(text);
        if (name.empty()) return;
        say("template-unsafe-name", filter.at,
            fmt::format("the chat template accesses Python's '{}' through the filter '{}'", shown(name), filter.text));
      };
      for (std::size_t i = is_join ? 1 : 0; i < arguments.positional.size(); ++i) check(arguments.positional[i]);
      for (const auto& [name, argument] : arguments.named) {
        if (!is_join || name == "attribute") check(argument);
      }
      for (const Expression* rest : {arguments.rest, arguments.rest_named}) {
        if (rest == nullptr) continue;
        for (const Expression* item : rest->operands) check(item);
      }
    }
    if (filter.text == "format") check_format(filter.operands.front(), filter.at);
    if (filter.text == "map" && !arguments.positional.empty() && filter.operands.front() != nullptr) {
      const std::string called = literals_.joined(arguments.positional.front());
      if (called == "format") check_format(filter.operands.front(), filter.at);
    }
    if (takes_width(filter.text)) check_width(arguments, filter.at);
  }

  void check_width(const ArgumentList& arguments, std::size_t at) {
    const auto is_large = [&](const Expression* one) { return literals_.number(one).value_or(0) >= large_number; };
    const auto& positional = arguments.positional;
    if (std::any_of(positional.begin(), positional.end(), is_large) ||
        std::any_of(arguments.named.begin(), arguments.named.end(),
                    [&](const auto& one) { return is_large(one.second); })) {
      say_large(at, "a width");
    }
  }

  void say_large(std::size_t at, std::string_view what) {
    say("template-size", at, fmt::format("{} is too large for a prompt", what));
  }

  void check_call(const Expression& call) {
    const Expression& callee = *call.operands.front();
    if (callee.kind == ExpressionKind::attribute || callee.kind == ExpressionKind::item) {
      const std::string name =
          callee.kind == ExpressionKind::attribute ? std::string(callee.text) : literals_.joined(callee.operands[1]);
      if (is_format(name)) return check_format(callee.operands.front(), call.at);
      if (takes_width(name)) return check_width(call.arguments, call.at);
      return check_method(callee, call);
    }
    check_method(callee, call);
    if (callee.kind != ExpressionKind::name) return;
    const std::string_view name = callee.text;
    if (calls_global(callee, "range")) {
      const auto& arguments = call.arguments.positional;
      if (std::any_of(arguments.begin(), arguments.end(), [&](const Expression* one) {
            return std::abs(literals_.number(one).value_or(0)) > most_in_range;
          })) {
        say_large(call.at, "the range of a loop");
      }
    }
    if (calls_global(callee, "lipsum")) check_width(call.arguments, call.at);
    const FunctionBody* macro = around().macro;
    if (macro != nullptr && macro->name == name && literals_.macro(name) == macro && !around().is_conditional) {
      say("template-size", call.at, fmt::format("the macro '{}' calls itself without end", name));
    }
    if (literals_.is_bound(name) || is_global(name) || is_block_name(name)) return;
    if (is_unsafe(name)) return say_unsafe(call.at, name);
    if (!literals_.is_guarded(name)) {
      say("template-unknown-call", call.at,
          fmt::format("the chat template calls '{}', which no program provides", shown(name)));
    }
  }

  void check_product(const Expression& product) {
    for (std::size_t side = 0; side < 2; ++side) {
      const Expression& other = *product.operands[1 - side];
      const double count = literals_.number(product.operands[side]).value_or(0);
      if (count < large_number || literals_.number(&other)) continue;
      const bool is_text = other.kind == ExpressionKind::list || other.kind == ExpressionKind::tuple || has_text(other);
      if (is_text || count >= 100 * large_number) return say_large(product.at, "the product '*'");
    }
  }

  bool has_text(const Expression& value) {
    const std::string text = literals_.joined(&value);
    return text.find_first_not_of(unknown_piece) != text.npos;
  }

  void check_power(const Expression& power) {
    const auto value = literals_.number(&power);
    const double exponent = literals_.number(power.operands[1]).value_or(0);
    if (std::abs(value.value_or(0)) > largest_number || std::isnan(value.value_or(0)) || exponent > 10'000)
      say_large(power.at, "the power '**'");
  }

  const std::string_view source_;
  const std::string_view original_;
  Literals literals_;
  std::vector<double> rounds_;  // product of the iteration counts of the enclosing loops
  std::vector<Remark> remarks_;
};

}  // namespace

bool is_hidden(char32_t c, char32_t before) {
  if (c >= 0xFE00 && c <= 0xFE0F) return false;  // variation selectors, common with emoji
  if (c == 0x200C || c == 0x200D) return before < 0x300 || is_invisible(before);  // joiners in emoji, some scripts
  if (c < 0x20) return c != '\t' && c != '\n' && c != '\r' && c != '\f' && c != '\v';
  return c == 0x7F || is_invisible(c);
}

std::string hidden_message(char32_t c) {
  return fmt::format("the chat template contains the invisible character U+{:04X}", static_cast<u32>(c));
}

std::vector<Remark> hidden_text(std::string_view source) {
  std::vector<Remark> remarks;
  find_hidden(source, [&](std::size_t at, char32_t c) {
    remarks.push_back({"template-hidden", position(source, at).text() + ": " + hidden_message(c), at});
    return false;
  });
  return remarks;
}

std::vector<Remark> inspect(const Template& parsed, std::string_view source) {
  return Inspector(parsed, source).take();
}

}  // namespace modelutils::jinja
