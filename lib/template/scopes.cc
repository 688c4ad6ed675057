#include "template/scopes.h"

#include <fmt/core.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "template/interpreter.h"
#include "template/syntax.h"

namespace modelutils::jinja {

namespace {

// Second pass: assigns slots to names; runs both passes for nested bodies.
class Resolution {
 public:
  explicit Resolution(Heap& heap) : heap_(heap) {}

  Outcome<void> root(FunctionBody& function) {
    FunctionScope own{nullptr, &function};
    Symbols symbols(nullptr, own);
    SymbolAnalysis(symbols).body(function.body);
    MU_TRY(body(function.body, symbols, {true, false}));
    function.frame = symbols.loads();
    return {};
  }

 private:
  // Context of a node.
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
      // Jinja does not collect names in the filters of a `set` block and then fails to resolve them.
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
    MU_TRY(check_keywords(*node));
    Outcome<void> result;
    const bool is_soft_below = is_soft || node->kind == ExpressionKind::choice;
    each_child(*node, [&](Expression& child) {
      if (result) result = expression(&child, symbols, is_soft_below);
    });
    return result;
  }

  // Python rejects calls with repeated keywords. Jinja folds filters and tests of constants without compiling a call.
  Outcome<void> check_keywords(const Expression& node) {
    const auto& named = node.arguments.named;
    if (named.size() < 2) return {};
    bool is_constant =
        node.kind != ExpressionKind::call && node.arguments.rest == nullptr && node.arguments.rest_named == nullptr;
    each_child(const_cast<Expression&>(node),
               [&](Expression& child) { is_constant = is_constant && child.kind == ExpressionKind::constant; });
    std::unordered_set<std::string_view> seen;
    for (const auto& [name, value] : named) {
      if (!seen.insert(name).second && !is_constant) {
        return fail(fmt::format("keyword argument repeated: {}", name), value->at);
      }
    }
    return {};
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
        SymbolAnalysis(inner).body(node.body);
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

  // Resolves a body whose text is filtered or assigned to a variable.
  Outcome<void> inner_body(Statement& node, Symbols& symbols) {
    Symbols inner(&symbols, symbols.function());
    SymbolAnalysis analysis(inner);
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
    SymbolAnalysis analysis(inner);
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
    SymbolAnalysis analysis(inner);
    analysis.parameters(*node.target);
    analysis.body(node.body);
    node.loop_slot = inner.find("loop", *function);
    MU_TRY(expression(node.target, inner, false));
    MU_TRY(body(node.body, inner, {}));
    node.frame = inner.loads();
    if (node.test != nullptr) MU_TRY(loop_test(node, symbols, *function));
    if (!node.otherwise.empty()) {
      Symbols other(&symbols, *function);
      SymbolAnalysis(other).body(node.otherwise);
      MU_TRY(body(node.otherwise, other, {}));
      node.otherwise_frame = other.loads();
    }
    --loops_;
    return {};
  }

  // Resolves a loop's condition as a separate function, like the generator that Jinja creates for it.
  Outcome<void> loop_test(Statement& node, Symbols& symbols, FunctionScope& function) {
    node.test_function = heap_.make<FunctionBody>();
    FunctionScope own{&function, node.test_function};
    Symbols inner(&symbols, own);
    node.test_target = copy(*node.target);
    SymbolAnalysis analysis(inner);
    analysis.parameters(*node.test_target);
    analysis.expression(node.test);
    MU_TRY(expression(node.test_target, inner, false));
    MU_TRY(expression(node.test, inner, false));
    node.test_function->frame = inner.loads();
    return {};
  }

  // Resolves a macro or the body of a call block.
  Outcome<void> function(FunctionBody& function, Symbols& symbols) {
    FunctionScope own{&symbols.function(), &function};
    Symbols inner(&symbols, own);
    SymbolAnalysis analysis(inner);
    for (const Expression* parameter : function.parameters) analysis.parameters(*parameter);
    for (const Expression* value : function.defaults) analysis.expression(value);
    analysis.body(function.body);
    const auto is_parameter = [&](std::string_view name) {
      return std::any_of(function.parameters.begin(), function.parameters.end(),
                         [&](const Expression* one) { return one->text == name; });
    };
    function.has_caller_parameter = is_parameter("caller");
    std::unordered_set<std::string_view> seen;
    for (const Expression* parameter : function.parameters) {
      if (seen.insert(parameter->text).second) continue;
      return fail(fmt::format("duplicate argument '{}' in function definition", parameter->text), parameter->at);
    }
    // Jinja searches for these names in the whole body, including nested macros.
    const SpecialNames mentioned = special_names(function);
    const std::size_t required = function.parameters.size() - function.defaults.size();
    for (std::size_t i = 0; i < required && mentioned.caller; ++i) {
      if (function.parameters[i]->text != "caller") continue;
      return fail("the parameter 'caller' of a macro must have a default", function.parameters[i]->at);
    }
    const auto special = [&](std::string_view name, bool is_mentioned, bool& is_taken, Slot& slot) {
      is_taken = is_mentioned && !is_parameter(name);
      if (!is_taken) return;
      inner.declare_parameter(name);
      slot = inner.find(name, own);
    };
    special("caller", mentioned.caller, function.takes_caller, function.caller_slot);
    special("kwargs", mentioned.kwargs, function.takes_kwargs, function.kwargs_slot);
    special("varargs", mentioned.varargs, function.takes_varargs, function.varargs_slot);
    for (Expression* parameter : function.parameters) MU_TRY(expression(parameter, inner, false));
    for (Expression* value : function.defaults) MU_TRY(expression(value, inner, false));
    MU_TRY(body(function.body, inner, {}));
    function.frame = inner.loads();
    return {};
  }

  Heap& heap_;
  u32 loops_ = 0;
};

}  // namespace

Outcome<void> resolve_names(FunctionBody& root, Heap& heap) {
  return Resolution(heap).root(root);
}

}  // namespace modelutils::jinja
