// The variable `loop`.
#include "template/interpreter.h"
#include "template/operators.h"

namespace modelutils::jinja {

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
