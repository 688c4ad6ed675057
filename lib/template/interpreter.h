// The interpreter: runs a parsed template within limits of its resources, and calls macros, methods, filters, tests
// and globals. A null entry in a table of built-in ones exists in Jinja, but is not supported here.
#pragma once

#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "template/syntax.h"
#include "template/value.h"

// The resource limits and the memory of one rendering.

namespace modelutils::jinja {

/// Far above the needs of a prompt of a million tokens, and low enough that no template costs more than a few seconds
/// and a few hundred MiB.
struct Limits {
  u64 steps = 20'000'000;
  u64 memory = u64{320} << 20;  ///< bytes of all values, including those no longer in use
  u64 output = u64{32} << 20;   ///< bytes
  u32 depth = 400;              ///< nesting of expressions, statements and calls
  i64 range = 100'000;          ///< longest range(), as in Jinja's sandbox
};

/// Allocates the values of one rendering and enforces its limits.
class Machine {
 public:
  explicit Machine(const Limits& limits) : limits_(limits) {}

  const Limits& limits() const { return limits_; }

  /// Charges `count` steps. Also fails if the bytes noted by count() exceed the limit.
  Outcome<void> charge(u64 count);
  /// Charges for making or scanning `bytes` bytes. Call it first wherever the template determines the size.
  Outcome<void> reserve(u64 bytes);
  /// Records bytes that are allocated already: objects, messages, pieces of text. The next charge() fails if they
  /// exceed the limit, so `bytes` must be small or bounded by the size of one literal in the template.
  void count(u64 bytes) { spent_.memory += bytes; }

  /// The resources used so far.
  struct Spent {
    u64 steps = 0;
    u64 memory = 0;
  };
  const Spent& spent() const { return spent_; }

  tl::unexpected<Failure*> fail(FailureKind kind, std::string message) {
    count(message.size());
    return tl::make_unexpected(make<Failure>(kind, std::move(message)));
  }
  tl::unexpected<Failure*> raise(std::string message) { return fail(FailureKind::runtime, std::move(message)); }
  tl::unexpected<Failure*> unsupported(std::string_view what) {
    return fail(FailureKind::unsupported, std::string(what) + " is not supported");
  }
  /// Fails like Python does when an undefined value is used.
  tl::unexpected<Failure*> raise_undefined(const Value& undefined);

  Outcome<Value> text(std::string bytes, bool is_markup = false);
  Outcome<Value> list(std::vector<Value> items, Kind kind = Kind::list);
  Outcome<Value> dict(const Dict* made) { return Value::of(Kind::dict, made); }
  Value undefined(std::string message, bool is_unsafe = false);

  template <typename T, typename... Arguments>
  T* make(Arguments&&... arguments) {
    count(sizeof(T) + sizeof(Object*));
    return heap_.make<T>(std::forward<Arguments>(arguments)...);
  }

  /// Counts one nesting level while it exists; see MU_DEEPER.
  class Level {
   public:
    explicit Level(Machine& machine) : machine_(machine) { ++machine_.depth_; }
    ~Level() { --machine_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Machine& machine_;
  };
  Outcome<void> check_depth();

 private:
  Outcome<void> bytes_left(u64 bytes);

  const Limits limits_;
  Heap heap_;
  Spent spent_;
  u32 depth_ = 0;
};

}  // namespace modelutils::jinja

/// For every recursive function: counts one nesting level until the function returns, and returns a failure if the
/// nesting is too deep.
#define MU_DEEPER(machine)                                        \
  const ::modelutils::jinja::Machine::Level mu_level_((machine)); \
  MU_TRY((machine).check_depth())

namespace modelutils::jinja {

// Calls of macros, methods, filters, tests and globals.

/// The arguments passed by a template, after evaluation.
struct Call {
  std::vector<Value> positional = {};
  std::vector<std::pair<std::string, Value>> named = {};
};

class Interpreter;

/// A built-in function, method, filter or test. `self` is the object of a method, or the input of a filter or test.
using Native = Outcome<Value> (*)(Interpreter& interpreter, const Value& self, const Call& call);

struct Function : Object {
  Function(std::string_view title, Native code, Value of) : name(title), native(code), self(of) {}
  std::string_view name;
  Native native;  ///< nullptr if Python has it and this engine does not
  Value self;
};

std::string_view macro_name(const Value& macro);

/// Binds the arguments to `parameters`, in order. Absent ones have the kind `missing`; fails if one of the first
/// `required` is absent, or on unknown or repeated arguments. `name` is the function's name, for messages.
Outcome<std::vector<Value>> bind_arguments(Machine& machine, std::string_view name, const Call& call,
                                           std::span<const std::string_view> parameters, std::size_t required = 0);

// The tables of built-in filters, tests and methods. A null entry exists in Jinja, but is not supported here.

/// Returns nullptr if Jinja has no such filter.
const Native* find_filter(std::string_view name);
inline bool is_filter(std::string_view name) {
  return find_filter(name) != nullptr;
}
/// True if Jinja has a test of that name.
bool is_test(std::string_view name);

/// The parts of the filter table, one per source file.
struct NamedNative {
  std::string_view name;
  Native native;
};
std::span<const NamedNative> text_filters();
std::span<const NamedNative> number_filters();
std::span<const NamedNative> sequence_filters();
std::span<const NamedNative> selecting_filters();
/// Methods of str; `self` is the text.
std::span<const NamedNative> text_methods();
std::span<const NamedNative> text_search_methods();

/// The variables of one call of a template function.
struct Activation : Object {
  const Activation* parent = nullptr;
  mutable std::vector<Value> slots;
};

struct Macro : Object {
  const FunctionBody* body = nullptr;
  const Activation* around = nullptr;  ///< the variables in scope at its definition
};

/// The state of a loop, accessible through the variable `loop`.
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
