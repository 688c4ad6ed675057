#include "template/tree_walk.h"

namespace modelutils::jinja {

void TreeWalk::walk(const Body& body) {
  for (const Statement* statement : body) walk(*statement);
}

void TreeWalk::walk(const Statement& statement) {
  enter(statement);
  const Surroundings before = around_;
  const bool is_loop = statement.kind == StatementKind::loop;
  walk(statement.target);
  walk(statement.value);
  for (const auto& [target, value] : statement.assignments) {
    walk(target);
    walk(value);
  }
  if (is_loop) ++around_.loops;
  if (is_loop || statement.kind == StatementKind::condition) around_.is_conditional = true;
  walk(statement.test);
  if (statement.function != nullptr) walk(*statement.function, statement.kind == StatementKind::macro);
  walk(statement.body);
  if (is_loop) around_.loops = before.loops;
  for (const Statement* other : statement.elifs) walk(*other);
  walk(statement.otherwise);
  around_ = before;
  leave(statement);
}

void TreeWalk::walk(const FunctionBody& function, bool is_macro) {
  const Surroundings before = around_;
  for (const Expression* value : function.defaults) walk(value);
  if (is_macro) around_ = {.macro = &function};
  walk(function.body);
  around_ = before;
}

void TreeWalk::walk(const ArgumentList& arguments) {
  for (const Expression* argument : arguments.positional) walk(argument);
  for (const auto& [name, argument] : arguments.named) walk(argument);
  walk(arguments.rest);
  walk(arguments.rest_named);
}

void TreeWalk::walk(const Expression* expression) {
  if (expression == nullptr) return;
  visit(*expression);
  const Surroundings before = around_;
  const bool may_skip = expression->kind == ExpressionKind::choice || expression->kind == ExpressionKind::either ||
                        expression->kind == ExpressionKind::both;
  if (may_skip) around_.is_conditional = true;
  for (const Expression* operand : expression->operands) walk(operand);
  walk(expression->arguments);
  around_ = before;
}

}  // namespace modelutils::jinja
