#include "template/calls.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "template/interpreter.h"
#include "template/natives.h"
#include "template/operators.h"
#include "template/printing.h"

namespace modelutils::jinja {

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

}  // namespace modelutils::jinja
