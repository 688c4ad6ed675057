#include "template/machine.h"

#include <fmt/core.h>

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

}  // namespace modelutils::jinja
