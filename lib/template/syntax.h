// The syntax tree of a template, a walk over it, and the symbols of each body. Nodes are allocated on the Heap of
// their Template. Names are resolved to slots once (template/scopes.h); rendering looks up only the caller's variables
// by name.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "template/value.h"

namespace modelutils::jinja {

/// A variable's location: slot `index` of the function `hops` levels out.
struct Slot {
  u32 hops = 0;
  u32 index = 0;
};

enum class ExpressionKind : u8 {
  constant,
  name,      ///< text
  tuple,     ///< operands
  list,      ///< operands
  dict,      ///< operands: key, value, key, value …
  choice,    ///< operands: test, value, otherwise (nullptr: none)
  either,    ///< operands: left or right
  both,      ///< left and right
  negation,  ///< not x
  compare,   ///< operands: the first, then one per entry of `comparisons`
  add,       ///< operands: left, right; also for the following six
  subtract,
  multiply,
  divide,
  floor_divide,
  modulo,
  power,
  concat,  ///< operands, joined as text
  minus,
  plus,
  attribute,  ///< operands: object; text: attribute name
  item,       ///< operands: object, subscript
  slice,      ///< operands: start, stop, step (nullptr if absent); only as the subscript of an item
  call,       ///< operands: callee; arguments
  filter,     ///< operands: input (nullptr: the text of a block); text: name; arguments
  test,       ///< operands: input; text: name; arguments
  member,     ///< only as a target: slot of a namespace; text: the attribute name
};

enum class Comparison : u8 { equal, not_equal, less, less_equal, greater, greater_equal, in, not_in };

struct Expression;

struct ArgumentList {
  std::vector<Expression*> positional;
  std::vector<std::pair<std::string_view, Expression*>> named;
  Expression* rest = nullptr;        ///< *x
  Expression* rest_named = nullptr;  ///< **x
};

struct Expression : Object {
  ExpressionKind kind = ExpressionKind::constant;
  u32 depth = 0;       ///< height of the tree below
  std::size_t at = 0;  ///< byte in the source
  std::string_view text = {};
  Value constant = {};
  Slot slot = {};
  bool is_store = false;  ///< true for a name that is assigned
  std::vector<Expression*> operands = {};
  std::vector<Comparison> comparisons = {};
  ArgumentList arguments = {};
};

enum class StatementKind : u8 {
  data,          ///< text
  print,         ///< value
  set,           ///< target, value
  set_block,     ///< target, body, value: its filter (nullptr: none)
  loop,          ///< target, value: what is iterated, test (nullptr: none), body, otherwise, is_recursive
  condition,     ///< value, body, otherwise; an elif is a condition in `elifs`
  with,          ///< assignments, body
  macro,         ///< target: its name; function
  call_block,    ///< value: the call; function
  generation,    ///< function: its body
  filter_block,  ///< value: the filters; body
  block,         ///< text: its name; function
  leave,         ///< break
  next,          ///< continue
  load,          ///< import, include, extends: text; always fails, because there is nothing to load from
  autoescape,    ///< value, body
};

struct Statement;
using Body = std::vector<Statement*>;

/// The source of a variable's initial value when its frame is entered.
struct SlotLoad {
  enum class From : u8 { nothing, outer, context } from = From::nothing;
  u32 index = 0;
  Slot outer = {};
  std::string_view name = {};
};

/// The variables of a body with its own scope.
struct FrameLoads {
  std::vector<SlotLoad> loads;
  std::vector<u32> parameters;  ///< slots filled by the code that enters the frame
};

/// A body called like a function: a macro, the body of a call block, a recursive loop, the condition of a loop.
struct FunctionBody : Object {
  std::string_view name = {};
  u32 slots = 0;
  FrameLoads frame = {};
  std::vector<Expression*> parameters = {};
  std::vector<Expression*> defaults = {};  ///< for the last parameters
  bool has_caller_parameter = false;       ///< `caller` is one of the parameters
  bool takes_caller = false;               ///< the body reads `caller`
  bool takes_varargs = false;
  bool takes_kwargs = false;
  Slot caller_slot = {}, varargs_slot = {}, kwargs_slot = {};
  Body body = {};
};

struct Statement : Object {
  StatementKind kind = StatementKind::data;
  std::size_t at = 0;
  std::string_view text = {};
  Expression* target = nullptr;
  Expression* value = nullptr;
  Expression* test = nullptr;
  Expression* test_target = nullptr;  ///< a copy of the target, resolved for the condition's function
  std::vector<std::pair<Expression*, Expression*>> assignments = {};
  std::vector<Statement*> elifs = {};
  Body body = {};
  Body otherwise = {};
  FunctionBody* function = nullptr;
  FunctionBody* test_function = nullptr;
  bool is_recursive = false;
  bool is_exported = false;  ///< at the top level, where assignments are visible in blocks
  FrameLoads frame = {};
  FrameLoads otherwise_frame = {};
  Slot loop_slot = {};
};

/// Calls visit(child) for each direct subexpression, including arguments.
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

// Visits every node of a template once, in source order.

/// The context of a node.
struct Surroundings {
  u32 loops = 0;                        ///< number of enclosing loops in its function
  bool is_conditional = false;          ///< inside a condition or loop of its function
  const FunctionBody* macro = nullptr;  ///< the macro whose body contains it
};

/// Override the callbacks of interest. Recursion depth equals the template's nesting, which parse() bounds.
class TreeWalk {
 public:
  virtual ~TreeWalk() = default;
  void walk(const Body& body);

 protected:
  virtual void enter(const Statement&) {}
  virtual void leave(const Statement&) {}
  virtual void visit(const Expression&) {}

  const Surroundings& around() const { return around_; }
  void walk(const Expression* expression);

 private:
  void walk(const Statement& statement);
  void walk(const FunctionBody& function, bool is_macro);
  void walk(const ArgumentList& arguments);

  Surroundings around_;
};

// The symbols of one body of a template (template/scopes.h), and the first pass over it, which collects the names it
// reads and assigns.

/// A template function during name resolution. Bodies at the same level share a variable per name, as in the code that
/// Jinja generates.
struct FunctionScope {
  FunctionScope* parent = nullptr;
  FunctionBody* body = nullptr;
  std::map<std::pair<u32, std::string_view>, u32> slots = {};
};

class Symbols {
 public:
  /// For a body within `parent`. nullptr for the whole template, or for a block, which does not see its surroundings.
  Symbols(Symbols* parent, FunctionScope& function)
      : parent_(parent), function_(function), level_(parent == nullptr ? 0 : parent->level_ + 1) {}

  /// Record that a name is read, assigned, or set on entry; call them in source order.
  void load(std::string_view name);
  void store(std::string_view name);
  u32 declare_parameter(std::string_view name);

  /// Bracket the branches of a condition (body, elifs, else). A name assigned in only some branches keeps its outer
  /// value in the others.
  void begin_branches();
  void begin_branch();
  void end_branch();
  void end_branches();

  /// Returns a name's variable as seen from `function`. The name must have been loaded or stored before.
  Slot find(std::string_view name, const FunctionScope& function) const;
  bool knows(std::string_view name) const { return find_function(name).second != nullptr; }

  FrameLoads loads() const;
  FunctionScope& function() { return function_; }

 private:
  struct State {
    bool is_known = false;
    bool is_stored = false;
    SlotLoad::From from = SlotLoad::From::nothing;
    bool is_parameter = false;
  };
  using Changes = std::vector<std::pair<std::string_view, State>>;
  struct Branches {
    std::size_t count = 0;
    Changes changes;  // of all branches, in order
  };

  void change(std::string_view name, const State& state);
  // Returns the symbols that define `name`, and its state there.
  std::pair<const Symbols*, const State*> find_function(std::string_view name) const;

  Symbols* parent_;
  FunctionScope& function_;
  u32 level_;
  std::unordered_map<std::string_view, State> states_;
  Changes undo_;                            // earlier values of states_, to restore after a branch
  std::vector<std::size_t> branch_begins_;  // indices into undo_
  std::vector<Branches> branches_;
};

/// Records the uses of names in a body, except in nested bodies that have symbols of their own.
class SymbolAnalysis {
 public:
  explicit SymbolAnalysis(Symbols& symbols) : symbols_(symbols) {}

  void body(const Body& statements);
  /// Accepts nullptr.
  void expression(const Expression* node);
  /// Declares names that are assigned on entry to the body: parameters and loop variables.
  void parameters(const Expression& target);

 private:
  void statement(const Statement& node);
  void condition_parts(const Statement& node);

  Symbols& symbols_;
};

/// The special macro names read anywhere in a body, including nested bodies but not blocks.
struct SpecialNames {
  bool caller = false;
  bool kwargs = false;
  bool varargs = false;
};
SpecialNames special_names(const FunctionBody& function);

}  // namespace modelutils::jinja
