#include "template/interpreter.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "template/operators.h"
#include "template/printing.h"

namespace modelutils::jinja {

Outcome<void> Machine::charge(u64 count) {
  spent_.steps += count;
  if (spent_.steps > limits_.steps)
    return fail(FailureKind::limit, "takes too many steps: a loop or a macro does not end");
  return bytes_left(0);
}

Outcome<void> Machine::bytes_left(u64 bytes) {
  if (spent_.memory > limits_.memory || bytes > limits_.memory - spent_.memory)
    return fail(FailureKind::limit, "makes texts or lists that are too large");
  return {};
}

Outcome<void> Machine::reserve(u64 bytes) {
  // One step per 64 bytes, so that repeated scans of a long text run into the step limit.
  MU_TRY(charge(1 + bytes / 64));
  MU_TRY(bytes_left(bytes));
  spent_.memory += bytes;
  return {};
}

tl::unexpected<Failure*> Machine::raise_undefined(const Value& undefined) {
  return raise(undefined.as<Undefined>().message);
}

Outcome<Value> Machine::text(std::string bytes, bool is_markup) {
  MU_TRY(reserve(bytes.size()));
  return Value::of(Kind::text, make<Text>(std::move(bytes), is_markup));
}

Outcome<Value> Machine::list(std::vector<Value> items, Kind kind) {
  MU_TRY(reserve(items.size() * sizeof(Value)));
  return Value::of(kind, make<List>(std::move(items)));
}

Value Machine::undefined(std::string message, bool is_unsafe) {
  count(message.size());
  return Value::of(Kind::undefined, make<Undefined>(std::move(message), is_unsafe));
}

Outcome<void> Machine::check_depth() {
  if (depth_ > limits_.depth) return fail(FailureKind::limit, "nests too deeply: a macro calls itself without end");
  return {};
}

std::string_view macro_name(const Value& macro) {
  return macro.as<Macro>().body->name;
}

Outcome<std::vector<Value>> bind_arguments(Machine& machine, std::string_view name, const Call& call,
                                           std::span<const std::string_view> parameters, std::size_t required) {
  if (call.positional.size() > parameters.size()) {
    return machine.raise(
        fmt::format("{}() takes at most {} arguments ({} given)", name, parameters.size(), call.positional.size()));
  }
  std::vector<Value> values(parameters.size());
  std::copy(call.positional.begin(), call.positional.end(), values.begin());
  for (const auto& [key, value] : call.named) {
    const auto place = std::find(parameters.begin(), parameters.end(), key);
    if (place == parameters.end()) {
      return machine.raise(fmt::format("{}() got an unexpected keyword argument '{}'", name, key));
    }
    Value& into = values[static_cast<std::size_t>(place - parameters.begin())];
    if (!into.is(Kind::missing)) {
      return machine.raise(fmt::format("{}() got multiple values for argument '{}'", name, key));
    }
    into = value;
  }
  for (std::size_t i = 0; i < required; ++i) {
    if (values[i].is(Kind::missing)) {
      return machine.raise(fmt::format("{}() missing a required argument: '{}'", name, parameters[i]));
    }
  }
  return values;
}

Outcome<Value> Interpreter::call(const Value& callee, const Call& call) {
  MU_DEEPER(machine_);
  MU_TRY(machine_.charge(1));
  switch (callee.kind()) {
    case Kind::undefined: return machine_.raise_undefined(callee);
    case Kind::macro: return call_macro(callee.as<Macro>(), call);
    case Kind::loop: return call_loop(callee.as<Loop>(), call);
    case Kind::function: {
      const auto& function = callee.as<Function>();
      if (function.native == nullptr) return machine_.unsupported(fmt::format("{}()", function.name));
      return function.native(*this, function.self, call);
    }
    case Kind::joiner: {
      auto& joiner = callee.changing<Joiner>();
      if (std::exchange(joiner.used, true)) return joiner.separator;
      return machine_.text("");
    }
    default: return machine_.raise(fmt::format("'{}' object is not callable", type_name(callee)));
  }
}

Value Interpreter::macro(const FunctionBody& body) {
  auto* macro = machine_.make<Macro>();
  macro->body = &body;
  macro->around = activation_;
  return Value::of(Kind::macro, macro);
}

Outcome<Value> Interpreter::call_macro(const Macro& macro, const Call& call) {
  const FunctionBody& body = *macro.body;
  auto* activation = machine_.make<Activation>();
  MU_TRY(machine_.reserve(sizeof(Activation) + body.slots * sizeof(Value)));
  activation->parent = macro.around;
  activation->slots.resize(body.slots);

  for (const auto& [name, value] : call.named) MU_TRY(machine_.reserve(name.size() + bytes_of_name));
  MU_TRY(machine_.charge(body.parameters.size() * call.named.size()));
  std::vector<std::pair<std::string, Value>> named = call.named;
  const auto take = [&](std::string_view name) {
    const auto found = std::find_if(named.begin(), named.end(), [&](const auto& one) { return one.first == name; });
    if (found == named.end()) return Value();
    const Value value = found->second;
    named.erase(found);
    return value;
  };
  const std::size_t count = body.parameters.size();
  std::vector<Value> values(call.positional.begin(), call.positional.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                                                   count, call.positional.size())));
  while (values.size() < count) values.push_back(take(body.parameters[values.size()]->text));

  const Activation* around = std::exchange(activation_, activation);
  std::string before;
  before.swap(out_);
  const auto run = [&]() -> Outcome<void> {
    if (body.takes_caller) {
      Value caller = take("caller");
      if (caller.is(Kind::missing) || caller.is(Kind::none)) caller = machine_.undefined("No caller defined");
      slot(body.caller_slot) = caller;
    }
    if (body.takes_kwargs) {
      auto* rest = machine_.make<Dict>();
      for (const auto& [name, value] : named) {
        MU_ASSIGN(const Value key, machine_.text(name));
        MU_TRY(put(machine_, *rest, key, value));
      }
      slot(body.kwargs_slot) = Value::of(Kind::dict, rest);
    } else if (!named.empty()) {
      return machine_.raise(fmt::format("macro '{}' takes no keyword argument '{}'", body.name, named.front().first));
    }
    if (body.takes_varargs) {
      std::vector<Value> rest(
          call.positional.begin() + static_cast<std::ptrdiff_t>(std::min(count, call.positional.size())),
          call.positional.end());
      MU_ASSIGN(slot(body.varargs_slot), machine_.list(std::move(rest), Kind::tuple));
    } else if (call.positional.size() > count) {
      return machine_.raise(fmt::format("macro '{}' takes not more than {} argument(s)", body.name, count));
    }
    MU_TRY(enter(body.frame));
    for (std::size_t i = 0; i < count; ++i) slot(body.parameters[i]->slot) = values[i];
    const std::size_t first_default = count - body.defaults.size();
    for (std::size_t i = 0; i < count; ++i) {
      if (!values[i].is(Kind::missing)) continue;
      if (i < first_default) {
        slot(body.parameters[i]->slot) =
            machine_.undefined(fmt::format("parameter '{}' was not provided", body.parameters[i]->text));
        continue;
      }
      MU_ASSIGN(const Value value, evaluate(*body.defaults[i - first_default]));
      slot(body.parameters[i]->slot) = value;
    }
    MU_TRY(this->body(body.body));
    return {};
  };
  const auto done = run();
  before.swap(out_);
  activation_ = around;
  MU_TRY(done);
  return machine_.text(std::move(before));
}

// loop(items) in a recursive loop: renders its body for other items.
Outcome<Value> Interpreter::call_loop(const Loop& outer, const Call& call) {
  const Statement& node = *outer.statement;
  if (!node.is_recursive) {
    return machine_.raise("The loop must have the 'recursive' marker to be called recursively.");
  }
  if (call.positional.size() != 1 || !call.named.empty()) return machine_.raise("loop() takes one argument");
  auto* activation = machine_.make<Activation>();
  MU_TRY(machine_.reserve(sizeof(Activation) + node.function->slots * sizeof(Value)));
  activation->parent = outer.around;
  activation->slots.resize(node.function->slots);
  const Activation* around = std::exchange(activation_, activation);
  std::string before;
  before.swap(out_);
  const auto run = [&]() -> Outcome<void> {
    MU_ASSIGN(Loop * loop, make_loop(node, call.positional.front()));
    loop->around = outer.around;
    loop->depth0 = outer.depth0 + 1;
    MU_TRY(iterate_loop(node, *loop));
    return {};
  };
  const auto done = run();
  before.swap(out_);
  activation_ = around;
  MU_TRY(done);
  return machine_.text(std::move(before));
}

Outcome<Value> Interpreter::filter(std::string_view name, const Value& input, const Call& call) {
  MU_DEEPER(machine_);
  MU_TRY(machine_.charge(1));
  const Native* native = find_filter(name);
  if (native == nullptr) return machine_.raise(fmt::format("No filter named '{}'.", name));
  if (*native == nullptr) return machine_.unsupported(fmt::format("the filter '{}'", name));
  return (*native)(*this, input, call);
}

// The variable `loop`.

namespace {

// Returns the next item without starting its round; kind `missing` at the end.
Outcome<Value> peek(Interpreter& interpreter, Loop& loop) {
  if (loop.ahead.empty()) {
    MU_ASSIGN(const Value item, interpreter.next_item(loop));
    if (item.is(Kind::missing)) return item;
    loop.ahead.push_back(item);
  }
  return loop.ahead.front();
}

// Returns the number of items. Takes the remaining ones from a generator or conditional loop.
Outcome<i64> loop_length(Interpreter& interpreter, Loop& loop) {
  if (!loop.length) {
    if (loop.source == nullptr && loop.test == nullptr) {
      loop.length = static_cast<i64>(loop.items.size());
    } else {
      while (true) {
        MU_ASSIGN(const Value item, interpreter.next_item(loop));
        if (item.is(Kind::missing)) break;
        MU_TRY(interpreter.machine().reserve(sizeof(Value)));
        loop.ahead.push_back(item);
      }
      loop.length = loop.index0 + 1 + static_cast<i64>(loop.ahead.size());
    }
  }
  return *loop.length;
}

Outcome<Value> cycle_of_loop(Interpreter& interpreter, const Value& self, const Call& call) {
  Machine& machine = interpreter.machine();
  if (!call.named.empty()) return machine.raise("cycle() takes no keyword arguments");
  if (call.positional.empty()) return machine.raise("no items for cycling given");
  const auto& loop = self.as<Loop>();
  return call.positional[static_cast<std::size_t>(loop.index0) % call.positional.size()];
}

Outcome<Value> changed_of_loop(Interpreter& interpreter, const Value& self, const Call& call) {
  Machine& machine = interpreter.machine();
  auto& loop = self.changing<Loop>();
  MU_ASSIGN(const Value now, machine.list(call.positional, Kind::tuple));
  if (!loop.changed.is(Kind::missing)) {
    MU_ASSIGN(const bool same, equal(machine, loop.changed, now));
    if (same) return Value::of(false);
  }
  loop.changed = now;
  return Value::of(true);
}

}  // namespace

Outcome<Value> Interpreter::loop_attribute(const Value& of, std::string_view name) {
  auto& loop = of.changing<Loop>();
  if (name == "index0") return Value::of(loop.index0);
  if (name == "index") return Value::of(loop.index0 + 1);
  if (name == "first") return Value::of(loop.index0 == 0);
  if (name == "depth0") return Value::of(loop.depth0);
  if (name == "depth") return Value::of(loop.depth0 + 1);
  if (name == "length" || name == "revindex" || name == "revindex0") {
    MU_ASSIGN(const i64 length, loop_length(*this, loop));
    return Value::of(name == "length" ? length : length - loop.index0 - (name == "revindex0" ? 1 : 0));
  }
  if (name == "last") {
    MU_ASSIGN(const Value next, peek(*this, loop));
    return Value::of(next.is(Kind::missing));
  }
  if (name == "nextitem") {
    MU_ASSIGN(const Value next, peek(*this, loop));
    return next.is(Kind::missing) ? machine_.undefined("there is no next item") : next;
  }
  if (name == "previtem") {
    return loop.index0 == 0 ? machine_.undefined("there is no previous item") : loop.before;
  }
  if (name == "cycle") return Value::of(Kind::function, machine_.make<Function>("cycle", cycle_of_loop, of));
  if (name == "changed") return Value::of(Kind::function, machine_.make<Function>("changed", changed_of_loop, of));
  return Value();
}

}  // namespace modelutils::jinja
