// The syntax tree of a template. Nodes lie on the Heap of their Template; names are resolved to slots once
// (template/scopes.h), so that rendering looks nothing up by name but what the caller gave.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "template/value.h"

namespace modelutils::jinja {

/// Where a variable is: in the activation of the function that encloses the node, `hops` functions out.
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
  negation,  ///< not
  compare,   ///< operands: first, others; one of `comparisons` before each other
  add,       ///< operands: left, right; so the following six
  subtract,
  multiply,
  divide,
  floor_divide,
  modulo,
  power,
  concat,  ///< operands, joined as texts
  minus,
  plus,
  attribute,  ///< operands: of what; text: name
  item,       ///< operands: of what, subscript
  slice,      ///< operands: start, stop, step (nullptr: none); only as the subscript of an item
  call,       ///< operands: callee; arguments
  filter,     ///< operands: input (nullptr: the text of a block); text: name; arguments
  test,       ///< operands: input; text: name; arguments
  member,     ///< only as a target: slot of a namespace; text: its attribute
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
  u32 depth = 0;       ///< of the tree below
  std::size_t at = 0;  ///< byte in the source
  std::string_view text = {};
  Value constant = {};
  Slot slot = {};
  bool is_store = false;  ///< a name that is assigned
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
  generation,    ///< function: of the body
  filter_block,  ///< value: the filters; body
  block,         ///< text: its name; function
  leave,         ///< break
  next,          ///< continue
  load,          ///< import, include, extends: text; always fails, there is nothing to load from
  autoescape,    ///< value, body
};

struct Statement;
using Body = std::vector<Statement*>;

/// How a variable gets its value when its frame is entered.
struct SlotLoad {
  enum class From : u8 { nothing, outer, context } from = From::nothing;
  u32 index = 0;
  Slot outer = {};
  std::string_view name = {};
};

/// The variables of a body that has some of its own.
struct FrameLoads {
  std::vector<SlotLoad> loads;
  std::vector<u32> parameters;  ///< slots that whoever enters the frame fills
};

/// A body that runs on its own: a macro, what a call block passes, a recursive loop, the test of a loop.
struct FunctionBody : Object {
  std::string_view name = {};
  u32 slots = 0;
  FrameLoads frame = {};
  std::vector<Expression*> parameters = {};
  std::vector<Expression*> defaults = {};  ///< of the last parameters
  bool has_caller_parameter = false;       ///< among the parameters
  bool takes_caller = false;               ///< the body mentions it
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
  Expression* test_target = nullptr;  ///< the target once more, as the test's function sees it
  std::vector<std::pair<Expression*, Expression*>> assignments = {};
  std::vector<Statement*> elifs = {};
  Body body = {};
  Body otherwise = {};
  FunctionBody* function = nullptr;
  FunctionBody* test_function = nullptr;
  bool is_recursive = false;
  bool is_exported = false;  ///< at the top level: what it assigns is seen by blocks
  FrameLoads frame = {};
  FrameLoads otherwise_frame = {};
  Slot loop_slot = {};
};

}  // namespace modelutils::jinja
