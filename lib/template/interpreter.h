// Runs a template.
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

/// The variables of one run of a function of the template.
struct Activation : Object {
  const Activation* parent = nullptr;
  mutable std::vector<Value> slots;
};

struct Macro : Object {
  const FunctionBody* body = nullptr;
  const Activation* around = nullptr;  ///< where it was defined
};

/// What a loop takes its items from, and what the variable `loop` knows.
struct Loop : Object {
  std::vector<Value> items;    ///< all of them; or with `source` those that were taken so far
  Iterator* source = nullptr;  ///< a generator
  const Statement* statement = nullptr;
  const Activation* around = nullptr;  ///< of a recursive loop: where its function is called
  const Activation* test = nullptr;    ///< with the variables of its condition
  std::size_t next = 0;                ///< in `items`
  std::deque<Value> ahead;             ///< taken from the rest already
  i64 index0 = -1;
  i64 depth0 = 0;
  std::optional<i64> length;
  Value current, before, changed;
};

class Interpreter {
 public:
  Interpreter(Machine& machine, i64 now) : machine_(machine), now_(now) {}

  /// A variable of the context, before run().
  void set(std::string name, Value value) { context_.emplace_back(std::move(name), value); }
  Outcome<std::string> run(const FunctionBody& root);

  Machine& machine() { return machine_; }
  i64 now() const { return now_; }

  /// Attributes and items as Jinja's sandbox looks for them.
  Outcome<Value> attribute(const Value& of, std::string_view name);
  Outcome<Value> item(const Value& of, const Value& subscript);
  /// Anything that is called.
  Outcome<Value> call(const Value& callee, const Call& call);
  Outcome<Value> filter(std::string_view name, const Value& input, const Call& call);
  Outcome<bool> test(std::string_view name, const Value& input, const Call& call);
  /// The next item of a loop whose condition holds; kind `missing` at the end.
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
  std::unordered_map<std::string_view, Value> exported_;  // assigned at the top level
  const Activation* activation_ = nullptr;
  std::string out_;
  u64 written_ = 0;
};

/// A method that the value has in Python: of kind `missing` if it has none of that name.
Outcome<Value> find_method(Machine& machine, const Value& of, std::string_view name);
/// range, namespace, raise_exception and their like; of kind `missing` if there is none of that name.
Value find_global(Machine& machine, std::string_view name);

}  // namespace modelutils::jinja
