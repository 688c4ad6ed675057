#include "template/machine.h"

#include <fmt/core.h>

namespace modelutils::jinja {

Outcome<void> Machine::charge(u64 count) {
  spent_.steps += count;
  if (spent_.steps > limits_.steps)
    return fail(FailureKind::limit, "takes too many steps: a loop or a macro does not end");
  return {};
}

Outcome<void> Machine::reserve(u64 bytes) {
  // One step for each 64 bytes: a template that goes over a long text again and again ends as well.
  MU_TRY(charge(1 + bytes / 64));
  if (bytes > limits_.memory - spent_.memory)
    return fail(FailureKind::limit, "makes texts or lists that are too large");
  spent_.memory += bytes;
  return {};
}

tl::unexpected<Failure*> Machine::raise_undefined(const Value& undefined) {
  return raise(undefined.as<Undefined>().message);
}

Outcome<Value> Machine::text(std::string bytes, bool is_markup) {
  MU_TRY(reserve(sizeof(Text) + bytes.size()));
  return Value::of(Kind::text, heap_.make<Text>(std::move(bytes), is_markup));
}

Outcome<Value> Machine::list(std::vector<Value> items, Kind kind) {
  MU_TRY(reserve(sizeof(List) + items.size() * sizeof(Value)));
  return Value::of(kind, heap_.make<List>(std::move(items)));
}

Value Machine::undefined(std::string message, bool is_unsafe) {
  return Value::of(Kind::undefined, heap_.make<Undefined>(std::move(message), is_unsafe));
}

Outcome<void> Machine::check_depth() {
  if (depth_ > limits_.depth) return fail(FailureKind::limit, "nests too deeply: a macro calls itself without end");
  return {};
}

}  // namespace modelutils::jinja
