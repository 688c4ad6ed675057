#include <fmt/core.h>

#include <utility>

#include "base/text.h"
#include "template/interpreter.h"
#include "template/operators.h"
#include "template/printing.h"

namespace modelutils::jinja {

Outcome<std::string> Interpreter::run(const FunctionBody& root) {
  auto* activation = machine_.make<Activation>();
  activation->slots.resize(root.slots);
  activation_ = activation;
  MU_TRY(enter(root.frame));
  MU_TRY(body(root.body));
  return std::move(out_);
}

Outcome<void> Interpreter::write(std::string_view text) {
  written_ += text.size();
  if (written_ > machine_.limits().output) {
    return machine_.fail(FailureKind::limit, "prints more than " + byte_text(machine_.limits().output));
  }
  MU_TRY(machine_.charge(text.size() / 64));
  out_ += text;
  return {};
}

Outcome<Interpreter::Flow> Interpreter::body(const Body& statements) {
  for (const Statement* one : statements) {
    auto flow = statement(*one);
    if (!flow) place(*flow.error(), one->at);
    if (!flow || *flow != Flow::on) return flow;
  }
  return Flow::on;
}

Outcome<Interpreter::Flow> Interpreter::statement(const Statement& node) {
  MU_DEEPER(machine_);
  MU_TRY(machine_.charge(1));
  switch (node.kind) {
    case StatementKind::data: MU_TRY(write(node.text)); return Flow::on;
    case StatementKind::print: {
      MU_ASSIGN(const Value value, evaluate(*node.value));
      if (value.is(Kind::text)) {
        MU_TRY(write(value.view()));
      } else {
        MU_ASSIGN(const std::string text, str(machine_, value));
        MU_TRY(write(text));
      }
      return Flow::on;
    }
    case StatementKind::set: {
      MU_ASSIGN(const Value value, evaluate(*node.value));
      MU_TRY(assign(*node.target, value, node.is_exported));
      return Flow::on;
    }
    case StatementKind::set_block:
    case StatementKind::filter_block: return captured(node);
    case StatementKind::loop: return loop(node);
    case StatementKind::condition: return condition(node);
    case StatementKind::with: return with(node);
    case StatementKind::macro: MU_TRY(assign(*node.target, macro(*node.function), node.is_exported)); return Flow::on;
    case StatementKind::call_block: {
      const Value caller = macro(*node.function);
      MU_ASSIGN(const Value value, call_expression(*node.value, &caller));
      MU_ASSIGN(const std::string text, str(machine_, value));
      MU_TRY(write(text));
      return Flow::on;
    }
    case StatementKind::generation: {
      MU_ASSIGN(const Value value, call(macro(*node.function), {}));
      MU_TRY(write(value.view()));
      return Flow::on;
    }
    case StatementKind::block: return block(node);
    case StatementKind::leave: return Flow::leave;
    case StatementKind::next: return Flow::next;
    case StatementKind::load: return machine_.raise("no loader for this environment specified");
    case StatementKind::autoescape: return machine_.unsupported("autoescape");
  }
  return Flow::on;
}

Outcome<Interpreter::Flow> Interpreter::condition(const Statement& node) {
  MU_ASSIGN(const Value value, evaluate(*node.value));
  if (is_true(value)) return body(node.body);
  for (const Statement* elif : node.elifs) {
    MU_ASSIGN(const Value other, evaluate(*elif->value));
    if (is_true(other)) return body(elif->body);
  }
  return body(node.otherwise);
}

Outcome<Interpreter::Flow> Interpreter::with(const Statement& node) {
  MU_TRY(enter(node.frame));
  for (const auto& [target, expression] : node.assignments) {
    MU_ASSIGN(const Value value, evaluate(*expression));
    MU_TRY(assign(*target, value, false));
  }
  auto flow = body(node.body);
  leave(node.frame);
  return flow;
}

// Renders a body, applies filters, and assigns the text to a variable or prints it.
Outcome<Interpreter::Flow> Interpreter::captured(const Statement& node) {
  std::string before;
  before.swap(out_);
  MU_TRY(enter(node.frame));
  MU_ASSIGN(const Flow flow, body(node.body));
  before.swap(out_);
  if (flow != Flow::on) {  // break or continue discards the text, as in Jinja
    leave(node.frame);
    return flow;
  }
  MU_ASSIGN(Value value, machine_.text(std::move(before)));
  if (node.value != nullptr) {
    MU_ASSIGN(value, filtered(*node.value, &value));
  }
  if (node.kind == StatementKind::set_block) {
    MU_TRY(assign(*node.target, value, node.is_exported));
  } else {
    MU_ASSIGN(const std::string text, str(machine_, value));
    MU_TRY(write(text));
  }
  leave(node.frame);
  return Flow::on;
}

// Renders a block, which sees only the context.
Outcome<Interpreter::Flow> Interpreter::block(const Statement& node) {
  auto* activation = machine_.make<Activation>();
  MU_TRY(machine_.reserve(node.function->slots * sizeof(Value)));
  activation->slots.resize(node.function->slots);
  const Activation* around = std::exchange(activation_, activation);
  const auto entered = enter(node.function->frame);
  auto flow = entered ? body(node.function->body) : tl::make_unexpected(entered.error());
  activation_ = around;
  return flow;
}

Outcome<void> Interpreter::assign(const Expression& target, const Value& value, bool is_exported) {
  if (target.kind == ExpressionKind::name) {
    slot(target.slot) = value;
    if (is_exported) exported_[target.text] = value;
    return {};
  }
  if (target.kind == ExpressionKind::member) {
    MU_ASSIGN(const Value of, evaluate(*target.operands.front()));
    if (!of.is(Kind::names)) return machine_.raise("cannot assign attribute on non-namespace object");
    auto& attributes = of.changing<Names>().attributes;
    MU_TRY(machine_.charge(attributes.size() / 8));
    for (auto& [name, old] : attributes) {
      if (name == target.text) {
        old = value;
        return {};
      }
    }
    MU_TRY(machine_.reserve(target.text.size() + bytes_of_name));
    attributes.emplace_back(std::string(target.text), value);
    return {};
  }
  if (value.is(Kind::undefined)) {
    return machine_.raise(fmt::format("not enough values to unpack (expected {}, got 0)", target.operands.size()));
  }
  auto items = iterate(machine_, value);
  if (!items) {
    if (items.error()->kind == FailureKind::runtime) {
      return machine_.raise(fmt::format("cannot unpack non-iterable {} object", type_name(value)));
    }
    return tl::make_unexpected(items.error());
  }
  const std::size_t count = target.operands.size();
  if (items->size() > count) return machine_.raise(fmt::format("too many values to unpack (expected {})", count));
  if (items->size() < count) {
    return machine_.raise(fmt::format("not enough values to unpack (expected {}, got {})", count, items->size()));
  }
  for (std::size_t i = 0; i < count; ++i) MU_TRY(assign(*target.operands[i], (*items)[i], is_exported));
  return {};
}

Outcome<Loop*> Interpreter::make_loop(const Statement& node, const Value& items) {
  auto* loop = machine_.make<Loop>();
  loop->statement = &node;
  if (items.is(Kind::iterator)) {
    loop->source = &items.changing<Iterator>();
  } else {
    MU_ASSIGN(loop->items, iterate(machine_, items));
  }
  if (node.test != nullptr) {
    auto* test = machine_.make<Activation>();
    MU_TRY(machine_.reserve(node.test_function->slots * sizeof(Value)));
    test->parent = activation_;
    test->slots.resize(node.test_function->slots);
    const Activation* around = std::exchange(activation_, test);
    const auto entered = enter(node.test_function->frame);
    activation_ = around;
    MU_TRY(entered);
    loop->test = test;
  }
  return loop;
}

Outcome<Value> Interpreter::next_item(Loop& loop) {
  while (true) {
    MU_TRY(machine_.charge(1));
    Value item;
    if (loop.source != nullptr) {
      if (loop.source->next == loop.source->items.size()) {
        if (loop.source->failure != nullptr) return tl::make_unexpected(loop.source->failure);
        return Value();
      }
      item = loop.source->items[loop.source->next++];
    } else {
      if (loop.next == loop.items.size()) return Value();
      item = loop.items[loop.next++];
    }
    if (loop.test == nullptr) return item;
    const Activation* around = std::exchange(activation_, loop.test);
    const auto assigned = assign(*loop.statement->test_target, item, false);
    auto passes = assigned ? evaluate(*loop.statement->test) : tl::make_unexpected(assigned.error());
    activation_ = around;
    MU_TRY(passes);
    if (is_true(*passes)) return item;
  }
}

Outcome<Interpreter::Flow> Interpreter::loop(const Statement& node) {
  MU_ASSIGN(const Value items, evaluate(*node.value));
  if (!node.is_recursive) {
    MU_ASSIGN(Loop * loop, make_loop(node, items));
    return iterate_loop(node, *loop);
  }
  auto* first = machine_.make<Loop>();
  first->statement = &node;
  first->around = activation_;
  first->depth0 = -1;
  MU_ASSIGN(const Value text, call_loop(*first, {{items}, {}}));
  MU_TRY(write(text.view()));
  return Flow::on;
}

Outcome<Interpreter::Flow> Interpreter::iterate_loop(const Statement& node, Loop& loop) {
  bool any = false;
  Flow left = Flow::on;
  while (left != Flow::leave) {
    Value item;
    if (loop.ahead.empty()) {
      MU_ASSIGN(item, next_item(loop));
    } else {
      item = loop.ahead.front();
      loop.ahead.pop_front();
    }
    if (item.is(Kind::missing)) break;
    any = true;
    ++loop.index0;
    loop.before = loop.current;
    loop.current = item;
    MU_TRY(enter(node.frame));
    slot(node.loop_slot) = Value::of(Kind::loop, &loop);
    MU_TRY(assign(*node.target, item, false));
    MU_ASSIGN(left, body(node.body));
  }
  leave(node.frame);
  if (any || node.otherwise.empty()) return Flow::on;
  MU_TRY(enter(node.otherwise_frame));
  auto flow = body(node.otherwise);
  leave(node.otherwise_frame);
  return flow;
}

Value& Interpreter::slot(const Slot& slot) const {
  const Activation* activation = activation_;
  for (u32 i = 0; i < slot.hops; ++i) activation = activation->parent;
  return activation->slots[slot.index];
}

Value Interpreter::from_context(std::string_view name) const {
  if (const auto found = exported_.find(name); found != exported_.end()) return found->second;
  for (const auto& [key, value] : context_) {
    if (key == name) return value;
  }
  return find_global(machine_, name);
}

// Enters a frame. The charge covers leave(), too.
Outcome<void> Interpreter::enter(const FrameLoads& frame) {
  MU_TRY(machine_.charge((frame.loads.size() + frame.parameters.size()) / 4));
  for (const SlotLoad& load : frame.loads) {
    Value& value = slot({0, load.index});
    switch (load.from) {
      case SlotLoad::From::nothing: value = Value(); break;
      case SlotLoad::From::outer: value = slot(load.outer); break;
      case SlotLoad::From::context: value = from_context(load.name); break;
    }
  }
  return {};
}

void Interpreter::leave(const FrameLoads& frame) {
  for (const SlotLoad& load : frame.loads) slot({0, load.index}) = Value();
  for (const u32 index : frame.parameters) slot({0, index}) = Value();
}

}  // namespace modelutils::jinja
