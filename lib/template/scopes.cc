#include "template/scopes.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "template/natives.h"
#include "template/symbols.h"

namespace modelutils::jinja {

namespace {

// Calls `visit` for every expression directly below one, those of its arguments too.
template <typename Visit>
void each_child(const Expression& node, const Visit& visit) {
  for (Expression* child : node.operands) {
    if (child != nullptr) visit(*child);
  }
  for (Expression* child : node.arguments.positional) visit(*child);
  for (const auto& [name, child] : node.arguments.named) visit(*child);
  if (node.arguments.rest != nullptr) visit(*node.arguments.rest);
  if (node.arguments.rest_named != nullptr) visit(*node.arguments.rest_named);
}

// First pass over a body: its symbols. Bodies within it that have symbols of their own are left out.
class Analysis {
 public:
  explicit Analysis(Symbols& symbols) : symbols_(symbols) {}

  void expression(const Expression* node) {
    if (node == nullptr) return;
    if (node->kind == ExpressionKind::name) {
      if (node->is_store) {
        symbols_.store(node->text);
      } else {
        symbols_.load(node->text);
      }
    }
    each_child(*node, [&](const Expression& child) { expression(&child); });
  }

  void parameters(const Expression& target) {
    if (target.kind == ExpressionKind::name) symbols_.declare_parameter(target.text);
    each_child(target, [&](const Expression& child) { parameters(child); });
  }

  void body(const Body& statements) {
    for (const Statement* one : statements) statement(*one);
  }

  void statement(const Statement& node) {
    switch (node.kind) {
      case StatementKind::print: expression(node.value); break;
      case StatementKind::set:
        expression(node.value);
        expression(node.target);
        break;
      case StatementKind::set_block: expression(node.target); break;
      case StatementKind::loop:
      case StatementKind::call_block:
      case StatementKind::filter_block: expression(node.value); break;
      case StatementKind::condition: condition_parts(node); break;
      case StatementKind::with:
        for (const auto& [target, value] : node.assignments) expression(value);
        break;
      case StatementKind::macro: symbols_.store(node.target->text); break;
      case StatementKind::load:
        expression(node.value);
        expression(node.target);
        break;
      case StatementKind::autoescape: expression(node.value); break;
      case StatementKind::data:
      case StatementKind::generation:
      case StatementKind::block:
      case StatementKind::leave:
      case StatementKind::next: break;
    }
  }

 private:
  void condition_parts(const Statement& node) {
    expression(node.value);
    symbols_.begin_branches();
    symbols_.begin_branch();
    body(node.body);
    symbols_.end_branch();
    symbols_.begin_branch();
    for (const Statement* elif : node.elifs) condition_parts(*elif);
    symbols_.end_branch();
    symbols_.begin_branch();
    body(node.otherwise);
    symbols_.end_branch();
    symbols_.end_branches();
  }

  Symbols& symbols_;
};

// Second pass: slots for names, and both passes for the bodies within.
class Resolution {
 public:
  explicit Resolution(Heap& heap) : heap_(heap) {}

  Outcome<void> root(FunctionBody& function) {
    FunctionScope own{nullptr, &function};
    Symbols symbols(nullptr, own);
    Analysis(symbols).body(function.body);
    MU_TRY(body(function.body, symbols, {true, false}));
    function.frame = symbols.loads();
    return {};
  }

 private:
  // Of a place: is it at the top level, is it in a condition?
  struct Where {
    bool is_top = false;
    bool is_soft = false;
  };

  tl::unexpected<Failure*> fail(std::string message, std::size_t at) {
    auto* failure = heap_.make<Failure>(FailureKind::syntax, std::move(message));
    failure->at = at;
    return tl::make_unexpected(failure);
  }

  Outcome<void> body(Body& statements, Symbols& symbols, Where where) {
    for (Statement* one : statements) MU_TRY(statement(*one, symbols, where));
    return {};
  }

  Outcome<void> expression(Expression* node, Symbols& symbols, bool is_soft) {
    if (node == nullptr) return {};
    if (node->kind == ExpressionKind::name) {
      if (node->is_store && node->text == "loop" && loops_ > 0) {
        return fail("Can't assign to special loop variable in for-loop target", node->at);
      }
      // Jinja forgets to look for names in the filters of a block that is assigned, and then misses them.
      if (!symbols.knows(node->text)) {
        return fail(
            fmt::format("Tried to resolve a name to a reference that was unknown to the frame ('{}')", node->text),
            node->at);
      }
      node->slot = symbols.find(node->text, symbols.function());
    }
    if (node->kind == ExpressionKind::filter && !is_soft && !is_filter(node->text)) {
      return fail(fmt::format("No filter named '{}'.", node->text), node->at);
    }
    if (node->kind == ExpressionKind::test && !is_soft && !is_test(node->text)) {
      return fail(fmt::format("No test named '{}'.", node->text), node->at);
    }
    Outcome<void> result;
    const bool is_soft_below = is_soft || node->kind == ExpressionKind::choice;
    each_child(*node, [&](Expression& child) {
      if (result) result = expression(&child, symbols, is_soft_below);
    });
    return result;
  }

  Outcome<void> statement(Statement& node, Symbols& symbols, Where where) {
    switch (node.kind) {
      case StatementKind::data:
      case StatementKind::leave:
      case StatementKind::next: return {};
      case StatementKind::print:
      case StatementKind::load:
        MU_TRY(expression(node.target, symbols, where.is_soft));
        return expression(node.value, symbols, where.is_soft);
      case StatementKind::set:
        node.is_exported = where.is_top;
        MU_TRY(expression(node.target, symbols, where.is_soft));
        return expression(node.value, symbols, where.is_soft);
      case StatementKind::set_block: {
        node.is_exported = where.is_top;
        MU_TRY(expression(node.target, symbols, where.is_soft));
        MU_TRY(inner_body(node, symbols));
        return {};
      }
      case StatementKind::filter_block: return inner_body(node, symbols);
      case StatementKind::autoescape: {
        MU_TRY(expression(node.value, symbols, where.is_soft));
        Symbols inner(&symbols, symbols.function());
        Analysis(inner).body(node.body);
        MU_TRY(body(node.body, inner, {}));
        node.frame = inner.loads();
        return {};
      }
      case StatementKind::loop: return loop_parts(node, symbols, where);
      case StatementKind::condition: return condition_parts(node, symbols, {where.is_top, true});
      case StatementKind::with: return with_parts(node, symbols, where);
      case StatementKind::macro:
        node.is_exported = where.is_top;
        MU_TRY(expression(node.target, symbols, where.is_soft));
        return function(*node.function, symbols);
      case StatementKind::call_block:
        MU_TRY(expression(node.value, symbols, where.is_soft));
        return function(*node.function, symbols);
      case StatementKind::generation: return function(*node.function, symbols);
      case StatementKind::block: {
        const u32 loops = std::exchange(loops_, 0);
        MU_TRY(root(*node.function));
        loops_ = loops;
        return {};
      }
    }
    return {};
  }

  // A body whose text goes through filters, or into a variable.
  Outcome<void> inner_body(Statement& node, Symbols& symbols) {
    Symbols inner(&symbols, symbols.function());
    Analysis analysis(inner);
    analysis.body(node.body);
    if (node.kind == StatementKind::filter_block) analysis.expression(node.value);
    MU_TRY(body(node.body, inner, {}));
    MU_TRY(expression(node.value, inner, false));
    node.frame = inner.loads();
    return {};
  }

  Outcome<void> condition_parts(Statement& node, Symbols& symbols, Where where) {
    MU_TRY(expression(node.value, symbols, true));
    MU_TRY(body(node.body, symbols, where));
    for (Statement* elif : node.elifs) MU_TRY(condition_parts(*elif, symbols, where));
    return body(node.otherwise, symbols, where);
  }

  Outcome<void> with_parts(Statement& node, Symbols& symbols, Where where) {
    Symbols inner(&symbols, symbols.function());
    Analysis analysis(inner);
    for (const auto& [target, value] : node.assignments) analysis.parameters(*target);
    analysis.body(node.body);
    for (const auto& [target, value] : node.assignments) {
      MU_TRY(expression(target, inner, where.is_soft));
      MU_TRY(expression(value, symbols, where.is_soft));
    }
    MU_TRY(body(node.body, inner, {}));
    node.frame = inner.loads();
    return {};
  }

  Expression* copy(const Expression& target) {
    auto* node = heap_.make<Expression>();
    node->kind = target.kind;
    node->at = target.at;
    node->text = target.text;
    node->is_store = target.is_store;
    for (const Expression* operand : target.operands) node->operands.push_back(copy(*operand));
    return node;
  }

  Outcome<void> loop_parts(Statement& node, Symbols& symbols, Where where) {
    MU_TRY(expression(node.value, symbols, where.is_soft));
    ++loops_;
    FunctionScope* function = &symbols.function();
    FunctionScope own{function, nullptr};
    if (node.is_recursive) {
      node.function = heap_.make<FunctionBody>();
      node.function->name = "loop";
      own.body = node.function;
      function = &own;
    }
    Symbols inner(&symbols, *function);
    inner.declare_parameter("loop");
    Analysis analysis(inner);
    analysis.parameters(*node.target);
    analysis.body(node.body);
    node.loop_slot = inner.find("loop", *function);
    MU_TRY(expression(node.target, inner, false));
    MU_TRY(body(node.body, inner, {}));
    node.frame = inner.loads();
    if (node.test != nullptr) MU_TRY(loop_test(node, symbols, *function));
    if (!node.otherwise.empty()) {
      Symbols other(&symbols, *function);
      Analysis(other).body(node.otherwise);
      MU_TRY(body(node.otherwise, other, {}));
      node.otherwise_frame = other.loads();
    }
    --loops_;
    return {};
  }

  // The condition of a loop runs in a function of its own, as the generator does that Jinja makes of it.
  Outcome<void> loop_test(Statement& node, Symbols& symbols, FunctionScope& function) {
    node.test_function = heap_.make<FunctionBody>();
    FunctionScope own{&function, node.test_function};
    Symbols inner(&symbols, own);
    node.test_target = copy(*node.target);
    Analysis analysis(inner);
    analysis.parameters(*node.test_target);
    analysis.expression(node.test);
    MU_TRY(expression(node.test_target, inner, false));
    MU_TRY(expression(node.test, inner, false));
    node.test_function->frame = inner.loads();
    return {};
  }

  // A macro, or what a call block passes.
  Outcome<void> function(FunctionBody& function, Symbols& symbols) {
    FunctionScope own{&symbols.function(), &function};
    Symbols inner(&symbols, own);
    Analysis analysis(inner);
    for (const Expression* parameter : function.parameters) analysis.parameters(*parameter);
    for (const Expression* value : function.defaults) analysis.expression(value);
    analysis.body(function.body);
    const auto is_parameter = [&](std::string_view name) {
      return std::any_of(function.parameters.begin(), function.parameters.end(),
                         [&](const Expression* one) { return one->text == name; });
    };
    function.has_caller_parameter = is_parameter("caller");
    // Jinja looks for these names in the whole body, macros within included.
    const auto special = [&](std::string_view name, bool& is_taken, Slot& slot) {
      is_taken = !is_parameter(name) && mentions(function.body, name);
      if (!is_taken) return;
      inner.declare_parameter(name);
      slot = inner.find(name, own);
    };
    special("caller", function.takes_caller, function.caller_slot);
    special("kwargs", function.takes_kwargs, function.kwargs_slot);
    special("varargs", function.takes_varargs, function.varargs_slot);
    for (Expression* parameter : function.parameters) MU_TRY(expression(parameter, inner, false));
    for (Expression* value : function.defaults) MU_TRY(expression(value, inner, false));
    MU_TRY(body(function.body, inner, {}));
    function.frame = inner.loads();
    return {};
  }

  static bool mentions(const Expression* node, std::string_view name) {
    if (node == nullptr) return false;
    if (node->kind == ExpressionKind::name && !node->is_store && node->text == name) return true;
    bool found = false;
    each_child(*node, [&](const Expression& child) { found = found || mentions(&child, name); });
    return found;
  }
  static bool mentions(const Body& body, std::string_view name) {
    return std::any_of(body.begin(), body.end(), [&](const Statement* one) { return mentions(*one, name); });
  }
  static bool mentions(const Statement& node, std::string_view name) {
    if (node.kind == StatementKind::block) return false;
    if (mentions(node.target, name) || mentions(node.value, name) || mentions(node.test, name)) return true;
    for (const auto& [target, value] : node.assignments) {
      if (mentions(value, name)) return true;
    }
    for (const Statement* elif : node.elifs) {
      if (mentions(*elif, name)) return true;
    }
    if (node.function != nullptr && (mentions(node.function->body, name) ||
                                     std::any_of(node.function->defaults.begin(), node.function->defaults.end(),
                                                 [&](const Expression* value) { return mentions(value, name); }))) {
      return true;
    }
    return mentions(node.body, name) || mentions(node.otherwise, name);
  }

  Heap& heap_;
  u32 loops_ = 0;
};

}  // namespace

Outcome<void> resolve_names(FunctionBody& root, Heap& heap) {
  return Resolution(heap).root(root);
}

}  // namespace modelutils::jinja
