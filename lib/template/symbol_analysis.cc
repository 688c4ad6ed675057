#include "template/symbol_analysis.h"

#include "template/syntax_children.h"

namespace modelutils::jinja {

void SymbolAnalysis::expression(const Expression* node) {
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

void SymbolAnalysis::parameters(const Expression& target) {
  if (target.kind == ExpressionKind::name) symbols_.declare_parameter(target.text);
  each_child(target, [&](const Expression& child) { parameters(child); });
}

void SymbolAnalysis::body(const Body& statements) {
  for (const Statement* one : statements) statement(*one);
}

void SymbolAnalysis::statement(const Statement& node) {
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

void SymbolAnalysis::condition_parts(const Statement& node) {
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

namespace {

class SpecialNamesIn {
 public:
  SpecialNames found;

  void look(const Body& body) {
    for (const Statement* one : body) look(*one);
  }

 private:
  void look(const Expression* node) {
    if (node == nullptr) return;
    if (node->kind == ExpressionKind::name && !node->is_store) {
      found.caller = found.caller || node->text == "caller";
      found.kwargs = found.kwargs || node->text == "kwargs";
      found.varargs = found.varargs || node->text == "varargs";
    }
    each_child(*node, [&](const Expression& child) { look(&child); });
  }

  void look(const Statement& node) {
    if (node.kind == StatementKind::block) return;
    look(node.target);
    look(node.value);
    look(node.test);
    for (const auto& [target, value] : node.assignments) look(value);
    for (const Statement* elif : node.elifs) look(*elif);
    if (node.function != nullptr) {
      look(node.function->body);
      for (const Expression* value : node.function->defaults) look(value);
    }
    look(node.body);
    look(node.otherwise);
  }
};

}  // namespace

SpecialNames special_names(const FunctionBody& function) {
  SpecialNamesIn names;
  names.look(function.body);
  return names.found;
}

}  // namespace modelutils::jinja
