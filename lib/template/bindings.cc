// Collects the values that a template binds to its names.
#include <algorithm>

#include "template/literals.h"
#include "template/tree_walk.h"

namespace modelutils::jinja {

namespace {

// At most this many values of one name are considered.
constexpr std::size_t most_values = 4;

bool is_text(const Expression& expression) {
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
        if (is_text(*operands[i])) bind_key(operands[i]->constant.view(), operands[i + 1]);
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

}  // namespace modelutils::jinja
