// The interpreter: runs a parsed template.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "template/calls.h"
#include "template/machine.h"
#include "template/syntax.h"

namespace modelutils::jinja {

/// The variables of one call of a template function.
struct Activation : Object {
  const Activation* parent = nullptr;
  mutable std::vector<Value> slots;
};

struct Macro : Object {
  const FunctionBody* body = nullptr;
  const Activation* around = nullptr;  ///< the variables in scope at its definition
};

/// The state of a loop, which the variable `loop` gives access to.
struct Loop : Object {
  std::vector<Value> items;    ///< all items; with `source`, those taken so far
  Iterator* source = nullptr;  ///< a generator, or nullptr
  const Statement* statement = nullptr;
  const Activation* around = nullptr;  ///< the loop's enclosing variables; for a recursive call, those at the call
  const Activation* test = nullptr;    ///< the variables of its `if` condition
  std::size_t next = 0;                ///< index into `items` of the next item to take
  std::deque<Value> ahead;             ///< items taken from the rest in advance, by `loop.nextitem` and the like
  i64 index0 = -1;
  i64 depth0 = 0;
  std::optional<i64> length;
  Value current, before, changed;
};

class Interpreter {
 public:
  Interpreter(Machine& machine, i64 now) : machine_(machine), now_(now) {}

  /// Sets a context variable. Call before run().
  void set(std::string name, Value value) { context_.emplace_back(std::move(name), value); }
  Outcome<std::string> run(const FunctionBody& root);

  Machine& machine() { return machine_; }
  i64 now() const { return now_; }

  /// Looks up attributes and items by the rules of Jinja's sandbox.
  Outcome<Value> attribute(const Value& of, std::string_view name);
  Outcome<Value> item(const Value& of, const Value& subscript);
  /// Calls a macro, function, method or any other callable value.
  Outcome<Value> call(const Value& callee, const Call& call);
  Outcome<Value> filter(std::string_view name, const Value& input, const Call& call);
  Outcome<bool> test(std::string_view name, const Value& input, const Call& call);
  /// Returns the next item for which the loop's condition holds; kind `missing` at the end.
  Outcome<Value> next_item(Loop& loop);
  Outcome<Value> loop_attribute(const Value& loop, std::string_view name);

 private:
  enum class Flow : u8 { on, leave, next };

  Outcome<Value> evaluate(const Expression& node);
  Outcome<Value> evaluate_node(const Expression& node);
  Outcome<Value> name(const Expression& node);
  Outcome<Value> container(const Expression& node);
  Outcome<Value> comparison(const Expression& node);
  Outcome<Value> concatenation(const Expression& node);
  Outcome<Value> subscript(const Expression& node);
  Outcome<Value> slice(const Value& of, const Expression& node);
  Outcome<Value> filtered(const Expression& node, const Value* input);
  Outcome<Call> arguments(const ArgumentList& list);
  Outcome<Value> call_expression(const Expression& node, const Value* caller);

  Outcome<Flow> body(const Body& statements);
  Outcome<Flow> statement(const Statement& node);
  Outcome<Flow> condition(const Statement& node);
  Outcome<Flow> loop(const Statement& node);
  Outcome<Flow> iterate_loop(const Statement& node, Loop& loop);
  Outcome<Flow> with(const Statement& node);
  Outcome<Flow> captured(const Statement& node);
  Outcome<Flow> block(const Statement& node);
  Outcome<void> assign(const Expression& target, const Value& value, bool is_exported);
  Outcome<void> write(std::string_view text);

  Outcome<Value> call_macro(const Macro& macro, const Call& call);
  Outcome<Value> call_loop(const Loop& loop, const Call& call);
  Value macro(const FunctionBody& body);
  Outcome<Loop*> make_loop(const Statement& node, const Value& items);

  Value& slot(const Slot& slot) const;
  Outcome<void> enter(const FrameLoads& frame);
  void leave(const FrameLoads& frame);
  Value from_context(std::string_view name) const;
  void place(Failure& failure, std::size_t at) const {
    if (!failure.at) failure.at = at;
  }

  Machine& machine_;
  const i64 now_;
  std::vector<std::pair<std::string, Value>> context_;
  std::unordered_map<std::string_view, Value> exported_;  // variables assigned at the top level
  const Activation* activation_ = nullptr;
  std::string out_;
  u64 written_ = 0;
};

/// Returns the Python method `name` bound to `of`; kind `missing` if the type has no such method.
Outcome<Value> find_method(Machine& machine, const Value& of, std::string_view name);
/// Returns the global function `name` (range, namespace, raise_exception …); kind `missing` if unknown.
Value find_global(Machine& machine, std::string_view name);

}  // namespace modelutils::jinja
