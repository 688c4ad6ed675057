#include "template/literals.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "base/escape.h"
#include "template/syntax.h"

namespace modelutils::jinja {

namespace {

// Limits for following names: an attack hides a short name, split into few pieces.
constexpr std::size_t most_bytes = 256;
constexpr u32 most_names_deep = 8;

void add(std::string& out, std::string_view text) {
  out += text.substr(0, most_bytes - std::min(most_bytes, out.size()));
}

bool is_list(const Expression& expression) {
  return expression.kind == ExpressionKind::list || expression.kind == ExpressionKind::tuple;
}

}  // namespace

Literals::Literals(const Body& body) {
  collect(body);
  // Visits names in source order, so that each finds the earlier ones memoised and recursion stays shallow.
  std::string text;
  for (const std::string& name : order_) {
    append_name(text, name);
    text.clear();
  }
}

const FunctionBody* Literals::macro(std::string_view name) const {
  const auto found = macros_.find(name);
  return found == macros_.end() ? nullptr : found->second;
}

std::string Literals::joined(const Expression* expression) {
  std::string text;
  append(text, expression);
  return text;
}

void Literals::append(std::string& out, const Expression* expression) {
  if (expression == nullptr || out.size() >= most_bytes) return;
  const auto& operands = expression->operands;
  switch (expression->kind) {
    case ExpressionKind::constant:
      if (expression->constant.is(Kind::text)) add(out, expression->constant.view());
      break;
    case ExpressionKind::name: append_name(out, std::string(expression->text)); break;
    case ExpressionKind::attribute: {
      const std::string name = "." + std::string(expression->text);
      is_bound(name) ? append_name(out, name) : append(out, operands.front());
      break;
    }
    case ExpressionKind::item: append_item(out, *expression); break;
    case ExpressionKind::choice:
    case ExpressionKind::either:
    case ExpressionKind::both:
      for (std::size_t i = expression->kind == ExpressionKind::choice ? 1 : 0; i < operands.size(); ++i) {
        append(out, operands[i]);
        out += unknown_piece;
      }
      break;
    case ExpressionKind::call: {
      const Expression& callee = *operands.front();
      const FunctionBody* called = callee.kind == ExpressionKind::name ? macro(callee.text) : nullptr;
      called != nullptr ? append_body(out, called->body) : append(out, &callee);
      append_arguments(out, expression->arguments);
      break;
    }
    case ExpressionKind::compare:
    case ExpressionKind::test: out += unknown_piece; break;
    default:
      for (const Expression* operand : operands) append(out, operand);
      append_arguments(out, expression->arguments);
  }
}

void Literals::append_arguments(std::string& out, const ArgumentList& arguments) {
  for (const Expression* argument : arguments.positional) append(out, argument);
  for (const auto& [name, argument] : arguments.named) {
    add(out, name);
    append(out, argument);
  }
  append(out, arguments.rest);
  append(out, arguments.rest_named);
}

void Literals::append_item(std::string& out, const Expression& item) {
  const Expression &base = *item.operands[0], &subscript = *item.operands[1];
  if (subscript.kind == ExpressionKind::constant && subscript.constant.is(Kind::text)) {
    const std::string name = "." + std::string(subscript.constant.view());
    if (is_bound(name)) return append_name(out, name);
  }
  const Expression* list = &base;
  const auto bound = base.kind == ExpressionKind::name ? bindings_.find(base.text) : bindings_.end();
  if (bound != bindings_.end() && bound->second.values.size() == 1) list = bound->second.values.front();
  const auto index = is_list(*list) ? number(&subscript) : std::nullopt;
  if (!index) return append(out, &base);
  const auto size = static_cast<double>(list->operands.size());
  const double place = *index < 0 ? *index + size : *index;
  if (place >= 0 && place < size) append(out, list->operands[static_cast<std::size_t>(place)]);
}

void Literals::append_body(std::string& out, const Body& body) {
  if (depth_ == most_names_deep) return;
  ++depth_;
  for (const Statement* statement : body) {
    if (out.size() >= most_bytes) break;
    if (statement->kind == StatementKind::data) {
      add(out, statement->text);
    } else if (statement->kind == StatementKind::print) {
      append(out, statement->value);
    } else {
      out += unknown_piece;
    }
  }
  --depth_;
}

void Literals::append_name(std::string& out, const std::string& name) {
  const auto found = bindings_.find(name);
  if (found == bindings_.end() || (depth_ == most_names_deep && !found->second.joined)) {
    out += unknown_piece;
    return;
  }
  Binding& binding = found->second;
  if (!binding.joined) {
    binding.joined = std::string(1, unknown_piece);  // for self-references
    ++depth_;
    std::string text;
    for (const Expression* value : binding.values) {
      append(text, value);
      text += unknown_piece;
    }
    for (const Body* body : binding.bodies) {
      append_body(text, *body);
      text += unknown_piece;
    }
    --depth_;
    if (text.size() > 1) text.pop_back();  // the text after the name is adjacent to the last value
    binding.joined = text.empty() ? std::string(1, unknown_piece) : text;
  }
  add(out, *binding.joined);
}

std::optional<double> Literals::number(const Expression* expression) {
  if (expression == nullptr) return std::nullopt;
  const auto& operands = expression->operands;
  const auto both = [&](auto&& operation) -> std::optional<double> {
    const auto left = number(operands[0]), right = number(operands[1]);
    return left && right ? std::optional<double>(operation(*left, *right)) : std::nullopt;
  };
  switch (expression->kind) {
    case ExpressionKind::constant: {
      const Value& value = expression->constant;
      if (value.is(Kind::integer)) return static_cast<double>(value.integer());
      if (value.is(Kind::real)) return value.real();
      if (value.is(Kind::big)) return HUGE_VAL;
      return std::nullopt;
    }
    case ExpressionKind::minus: {
      const auto value = number(operands[0]);
      return value ? std::optional<double>(-*value) : std::nullopt;
    }
    case ExpressionKind::add: return both(std::plus<>());
    case ExpressionKind::subtract: return both(std::minus<>());
    case ExpressionKind::multiply: return both(std::multiplies<>());
    case ExpressionKind::power: return both([](double a, double b) { return std::pow(a, b); });
    case ExpressionKind::name: {
      const auto found = bindings_.find(expression->text);
      if (found == bindings_.end() || found->second.values.size() != 1 || depth_ == most_names_deep)
        return std::nullopt;
      Binding& binding = found->second;
      if (!binding.is_number_known) {
        binding.is_number_known = true;  // nothing is known about self-references
        ++depth_;
        binding.number = number(binding.values.front());
        --depth_;
      }
      return binding.number;
    }
    default: return std::nullopt;
  }
}

// Collects the values that a template binds to its names.

namespace {

// At most this many values of one name are considered.
constexpr std::size_t most_values = 4;

bool is_text_literal(const Expression& expression) {
  return expression.kind == ExpressionKind::constant && expression.constant.is(Kind::text);
}

}  // namespace

class Collector : public TreeWalk {
 public:
  explicit Collector(Literals& into) : into_(into) {}

 protected:
  void enter(const Statement& statement) override {
    switch (statement.kind) {
      case StatementKind::set:
      case StatementKind::load: bind(statement.target, statement.value); break;
      case StatementKind::set_block: {
        Literals::Binding& binding = bind(statement.target, nullptr);
        binding.bodies.push_back(&statement.body);
        break;
      }
      case StatementKind::loop: bind_loop(statement); break;
      case StatementKind::with:
        for (const auto& [target, value] : statement.assignments) bind(target, value);
        break;
      case StatementKind::macro:
        bind(statement.target, nullptr);
        into_.macros_.emplace(statement.function->name, statement.function);
        break;
      default: break;
    }
    if (statement.function != nullptr) {
      const FunctionBody& function = *statement.function;
      for (const Expression* parameter : function.parameters) bind(parameter, nullptr);
      const std::size_t without = function.parameters.size() - function.defaults.size();
      for (std::size_t i = 0; i < function.defaults.size(); ++i) {
        bind(function.parameters[without + i], function.defaults[i]);
      }
    }
  }

  void visit(const Expression& expression) override {
    const auto& operands = expression.operands;
    if (expression.kind == ExpressionKind::test && (expression.text == "defined" || expression.text == "undefined") &&
        operands.front()->kind == ExpressionKind::name) {
      into_.guarded_.insert(operands.front()->text);
    }
    if (expression.kind == ExpressionKind::dict) {
      for (std::size_t i = 0; i + 1 < operands.size(); i += 2) {
        if (is_text_literal(*operands[i])) bind_key(operands[i]->constant.view(), operands[i + 1]);
      }
    }
    if (expression.kind == ExpressionKind::call && operands.front()->kind == ExpressionKind::name) {
      calls_.push_back(&expression);
      for (const auto& [name, value] : expression.arguments.named) bind_key(name, value);
    }
  }

 public:
  // Binds macro parameters to call arguments. Call after all macros are known.
  void bind_calls() {
    for (const Expression* call : calls_) {
      const auto macro = into_.macros_.find(call->operands.front()->text);
      if (macro == into_.macros_.end()) continue;
      const auto& parameters = macro->second->parameters;
      const auto& positional = call->arguments.positional;
      for (std::size_t i = 0; i < std::min(parameters.size(), positional.size()); ++i)
        bind(parameters[i], positional[i]);
      for (const auto& [name, value] : call->arguments.named) bind_name(std::string(name), value);
    }
  }

 private:
  Literals::Binding& bind_name(std::string name, const Expression* value) {
    const auto [at, is_new] = into_.bindings_.try_emplace(std::move(name));
    if (is_new) into_.order_.push_back(at->first);
    if (value != nullptr && at->second.values.size() < most_values) at->second.values.push_back(value);
    return at->second;
  }
  void bind_key(std::string_view key, const Expression* value) { bind_name("." + std::string(key), value); }

  Literals::Binding& bind(const Expression* target, const Expression* value) {
    if (target == nullptr) return bind_name({}, nullptr);
    if (target->kind == ExpressionKind::member) return bind_name("." + std::string(target->text), value);
    if (target->kind == ExpressionKind::name) return bind_name(std::string(target->text), value);
    const bool is_unpacked = value != nullptr && value->operands.size() == target->operands.size() &&
                             (value->kind == ExpressionKind::tuple || value->kind == ExpressionKind::list);
    for (std::size_t i = 0; i < target->operands.size(); ++i) {
      bind(target->operands[i], is_unpacked ? value->operands[i] : nullptr);
    }
    return bind_name({}, nullptr);
  }

  void bind_loop(const Statement& loop) {
    bind(loop.target, nullptr);
    if (loop.value->kind != ExpressionKind::list && loop.value->kind != ExpressionKind::tuple) return;
    for (std::size_t i = 0; i < std::min(loop.value->operands.size(), most_values); ++i) {
      bind(loop.target, loop.value->operands[i]);
    }
  }

  Literals& into_;
  std::vector<const Expression*> calls_;
};

void Literals::collect(const Body& body) {
  Collector collector(*this);
  collector.walk(body);
  collector.bind_calls();
}

namespace {

template <std::size_t count>
bool is_one_of(std::string_view name, const std::array<std::string_view, count>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

constexpr std::array<std::string_view, 8> globals = {"range",  "dict",      "lipsum",          "cycler",
                                                     "joiner", "namespace", "raise_exception", "strftime_now"};
constexpr std::array<std::string_view, 4> block_names = {"caller", "self", "super", "loop"};
constexpr std::array<std::string_view, 12> modules = {"os",     "sys",      "subprocess", "shutil",
                                                      "socket", "builtins", "pickle",     "importlib",
                                                      "posix",  "pty",      "ctypes",     "platform"};
// Attributes that lead to Python's frames, code and functions: the sandbox's list of unsafe ones.
constexpr std::array<std::string_view, 21> unsafe_names = {
    "mro",          "gi_frame",      "gi_code",   "cr_frame", "cr_code",    "ag_frame",     "ag_code",
    "f_back",       "f_globals",     "f_locals",  "f_code",   "f_builtins", "func_globals", "func_code",
    "func_closure", "func_defaults", "func_dict", "im_func",  "im_self",    "im_class",     "tb_frame"};
constexpr std::array<std::string_view, 4> telling_words = {"class", "globals", "builtins", "getattribute"};
constexpr std::array<std::string_view, 13> naming_filters = {"attr",       "map",    "select",  "reject", "selectattr",
                                                             "rejectattr", "sort",   "groupby", "sum",    "min",
                                                             "max",        "unique", "format"};
constexpr std::array<std::string_view, 6> widths = {"center", "indent", "ljust", "rjust", "zfill", "expandtabs"};

}  // namespace

bool is_ascii_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool is_unsafe(std::string_view name) {
  if (name.starts_with("__") && name.size() > 2 && name.find_first_not_of('_') != name.npos) return true;
  return is_one_of(name, unsafe_names);
}

std::string_view unsafe_part(std::string_view path) {
  for (std::size_t begin = 0; begin < path.size();) {
    std::size_t end = begin;
    while (end < path.size() && (is_ascii_word(path[end]) || path[end] == unknown_piece)) ++end;
    if (is_unsafe(path.substr(begin, end - begin))) return path.substr(begin, end - begin);
    begin = end + 1;
  }
  return {};
}

std::string_view unsafe_piece(std::string_view joined) {
  if (const std::string_view name = unsafe_part(joined); !name.empty()) return name;
  // "x__class__x", later cut by a slice or strip().
  for (std::size_t begin = joined.find("__"); begin != joined.npos; begin = joined.find("__", begin + 1)) {
    std::size_t end = begin + 2;
    while (end < joined.size() && is_ascii_word(joined[end]) && joined[end] != '_') ++end;
    if (end > begin + 2 && joined.substr(end).starts_with("__")) return joined.substr(begin, end + 2 - begin);
  }
  // "%c%cclass%c%c": the underscores are inserted later.
  for (const std::string_view word : telling_words) {
    if (const std::size_t at = joined.find(word); at != joined.npos) return joined.substr(at, word.size());
  }
  return {};
}

std::string_view unsafe_field(std::string_view text) {
  for (std::size_t open = text.find('{'); open != text.npos; open = text.find('{', open + 1)) {
    const std::string_view field = text.substr(open + 1, text.find('}', open) - open - 1);
    if (const std::string_view name = unsafe_part(field); !name.empty()) return name;
    open += field.size();
    if (open >= text.size()) break;
  }
  return {};
}

bool is_global(std::string_view name) {
  return is_one_of(name, globals);
}

bool is_block_name(std::string_view name) {
  return is_one_of(name, block_names);
}

bool is_module(std::string_view name) {
  return is_one_of(name, modules);
}

bool takes_names(std::string_view filter) {
  return is_one_of(filter, naming_filters);
}

bool takes_width(std::string_view name) {
  return is_one_of(name, widths);
}

std::string shown(std::string_view name) {
  std::string text;
  for (const char c : name.substr(0, 64)) text += c == unknown_piece ? "…" : std::string(1, c);
  return escape(text);
}

}  // namespace modelutils::jinja
