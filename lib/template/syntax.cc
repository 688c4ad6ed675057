#include "template/syntax.h"

#include <unordered_set>

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

void Symbols::change(std::string_view name, const State& state) {
  State& now = states_[name];
  if (!branch_begins_.empty()) undo_.emplace_back(name, now);
  now = state;
}

std::pair<const Symbols*, const Symbols::State*> Symbols::find_function(std::string_view name) const {
  for (const Symbols* symbols = this; symbols != nullptr; symbols = symbols->parent_) {
    const auto found = symbols->states_.find(name);
    if (found != symbols->states_.end() && found->second.is_known) return {symbols, &found->second};
  }
  return {nullptr, nullptr};
}

void Symbols::load(std::string_view name) {
  if (knows(name)) return;
  change(name, {true, false, SlotLoad::From::context, false});
}

void Symbols::store(std::string_view name) {
  State state = states_[name];
  if (!state.is_known) {
    state.is_known = true;
    const bool is_outside = parent_ != nullptr && parent_->knows(name);
    state.from = is_outside ? SlotLoad::From::outer : SlotLoad::From::nothing;
  }
  state.is_stored = true;
  change(name, state);
}

u32 Symbols::declare_parameter(std::string_view name) {
  change(name, {true, true, SlotLoad::From::nothing, true});
  return find(name, function_).index;
}

void Symbols::begin_branches() {
  branches_.emplace_back();
}

void Symbols::begin_branch() {
  branch_begins_.push_back(undo_.size());
}

void Symbols::end_branch() {
  const std::size_t begin = branch_begins_.back();
  branch_begins_.pop_back();
  Branches& branches = branches_.back();
  ++branches.count;
  // Record each changed name once, with its state at the branch's end; then restore the state from before the branch.
  std::unordered_set<std::string_view> seen;
  for (std::size_t i = begin; i < undo_.size(); ++i) {
    const std::string_view name = undo_[i].first;
    if (seen.insert(name).second) branches.changes.emplace_back(name, states_[name]);
  }
  while (undo_.size() > begin) {
    states_[undo_.back().first] = undo_.back().second;
    undo_.pop_back();
  }
}

void Symbols::end_branches() {
  const Branches branches = std::move(branches_.back());
  branches_.pop_back();
  std::unordered_map<std::string_view, std::size_t> stores;
  for (const auto& [name, state] : branches.changes) {
    if (state.is_stored && !states_[name].is_stored) ++stores[name];
  }
  for (const auto& [name, state] : branches.changes) {
    State merged = state;
    const auto count = stores.find(name);
    if (count != stores.end()) {
      merged.is_stored = true;
      if (count->second < branches.count) {
        const bool is_outside = parent_ != nullptr && parent_->knows(name);
        merged.from = is_outside ? SlotLoad::From::outer : SlotLoad::From::context;
      }
    }
    change(name, merged);
  }
}

Slot Symbols::find(std::string_view name, const FunctionScope& function) const {
  const auto [symbols, state] = find_function(name);
  FunctionScope& owner = symbols->function_;
  const auto [place, is_new] = owner.slots.emplace(std::pair(symbols->level_, name), owner.body->slots);
  if (is_new) ++owner.body->slots;
  Slot slot;
  slot.index = place->second;
  for (const FunctionScope* from = &function; from != &owner; from = from->parent) ++slot.hops;
  return slot;
}

FrameLoads Symbols::loads() const {
  FrameLoads loads;
  for (const auto& [name, state] : states_) {
    if (!state.is_known) continue;
    if (state.is_parameter) {
      loads.parameters.push_back(find(name, function_).index);
      continue;
    }
    SlotLoad load;
    load.from = state.from;
    load.index = find(name, function_).index;
    load.name = name;
    if (load.from == SlotLoad::From::outer) load.outer = parent_->find(name, function_);
    loads.loads.push_back(load);
  }
  return loads;
}

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
