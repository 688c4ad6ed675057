#include "pytorch/pickle_machine.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/utf8.h"

namespace modelutils::pytorch {

namespace {

constexpr ValueId no_value = ~ValueId{0};
constexpr u8 newest_protocol = 5;
constexpr std::size_t max_memo = 8'000'000;
constexpr std::size_t max_line = 64 * 1024;  // of a name or number in text form
constexpr std::size_t max_marks = 100'000;
constexpr std::size_t max_globals = 1'000'000;

struct RefusedOpcode {
  u8 code;
  std::string_view name;
};
constexpr RefusedOpcode refused[] = {{'P', "PERSID"}, {0x82, "EXT1"},        {0x83, "EXT2"},
                                     {0x84, "EXT4"},  {0x97, "NEXT_BUFFER"}, {0x98, "READONLY_BUFFER"}};

}  // namespace

bool PickleMachine::fail(std::string_view code, std::string message) {
  std::optional<u64> offset;
  if (base_) offset = *base_ + opcode_at_;
  findings_.error(Scope::container, code, fmt::format("{} (byte {} of {})", message, opcode_at_, name_), {}, offset);
  return false;
}

bool PickleMachine::take(u64 size, std::string_view& out) {
  if (size > bytes_.size() - position_) {
    ended_ = true;
    return broken(fmt::format("an opcode wants {} bytes, {} are left", size, bytes_.size() - position_));
  }
  out = {reinterpret_cast<const char*>(bytes_.data() + position_), static_cast<std::size_t>(size)};
  position_ += size;
  return true;
}

bool PickleMachine::take_line(std::string_view& out) {
  const std::string_view rest(reinterpret_cast<const char*>(bytes_.data() + position_), bytes_.size() - position_);
  const std::size_t end = rest.substr(0, max_line).find('\n');
  if (end == rest.npos) {
    ended_ = rest.size() < max_line;
    return broken("a line of text does not end");
  }
  out = rest.substr(0, end);
  position_ += end + 1;
  return true;
}

bool PickleMachine::push(ValueId value) {
  if (values_.is_full() || stack_.size() >= Values::max_values) {
    return fail("pt-limit", fmt::format("makes more than {} values", Values::max_values));
  }
  stack_.push_back(value);
  return true;
}

bool PickleMachine::pop(ValueId& value) {
  if (stack_.empty() || (!marks_.empty() && marks_.back() == stack_.size())) return broken("takes from an empty stack");
  value = stack_.back();
  stack_.pop_back();
  return true;
}

bool PickleMachine::pop_to_mark(std::vector<ValueId>& items) {
  if (marks_.empty()) return broken("needs a MARK where there is none");
  const auto first = stack_.begin() + marks_.back();
  items.assign(first, stack_.end());
  stack_.erase(first, stack_.end());
  marks_.pop_back();
  return true;
}

bool PickleMachine::run(Bytes bytes) {
  bytes_ = bytes;
  while (!stopped_) {
    opcode_at_ = position_;
    if (position_ == bytes_.size()) {
      ended_ = true;
      return broken("ends without STOP");
    }
    const auto code = static_cast<u8>(bytes_[position_++]);
    if (!step(code)) return false;
  }
  return true;
}

bool PickleMachine::step(u8 code) {
  switch (code) {
    case 0x80: {  // PROTO
      u8 protocol = 0;
      if (!take_number(protocol)) return false;
      return protocol <= newest_protocol ||
             broken(fmt::format("is of protocol {}; at most {} is allowed", protocol, newest_protocol));
    }
    case 0x95: {  // FRAME: only a hint of how much to read at once
      u64 size = 0;
      if (!take_number(size)) return false;
      if (size <= bytes_.size() - position_) return true;
      ended_ = true;
      return broken(fmt::format("a frame of {} bytes, {} are left", size, bytes_.size() - position_));
    }
    case '.': stopped_ = true; return pop(root_);
    case '(':
      if (marks_.size() >= max_marks) return fail("pt-limit", fmt::format("has more than {} open MARKs", max_marks));
      marks_.push_back(static_cast<u32>(stack_.size()));
      return true;
    case '0': {  // POP takes a MARK if that is on top
      if (!marks_.empty() && marks_.back() == stack_.size()) {
        marks_.pop_back();
        return true;
      }
      ValueId gone = 0;
      return pop(gone);
    }
    case '1': {
      std::vector<ValueId> gone;
      return pop_to_mark(gone);
    }
    case '2': {
      ValueId top = 0;
      return pop(top) && push(top) && push(top);
    }
    case 'N':
    case 'I':
    case 'F':
    case 'J':
    case 'K':
    case 'L':
    case 'M':
    case 'G':
    case 0x88:
    case 0x89:
    case 0x8a:
    case 0x8b: return push_number(code);
    case 'S':
    case 'T':
    case 'U':
    case 'V':
    case 'X':
    case 0x8c:
    case 0x8d:
    case 'B':
    case 'C':
    case 0x8e:
    case 0x96: return push_text(code);
    case 't':
    case ')':
    case 0x85:
    case 0x86:
    case 0x87:
    case 'l':
    case ']':
    case 'd':
    case '}':
    case 0x8f:
    case 0x91: return push_container(code);
    case 'a':
    case 'e':
    case 's':
    case 'u':
    case 0x90: return change_container(code);
    case 'p':
    case 'q':
    case 'r':
    case 'g':
    case 'h':
    case 'j':
    case 0x94: return change_memo(code);
    case 'c': {
      std::string_view module, name;
      return take_line(module) && take_line(name) && push_global(module, name);
    }
    case 'i': {  // INST
      std::string_view module, name;
      std::vector<ValueId> arguments;
      return take_line(module) && take_line(name) && pop_to_mark(arguments) &&
             instance_of(module, name, arguments.size());
    }
    case 'o': {  // OBJ
      std::vector<ValueId> items;
      if (!pop_to_mark(items)) return false;
      if (items.empty() || !values_.is(items.front(), ValueKind::global)) return broken("OBJ without a class");
      const GlobalUse& global = globals_[static_cast<std::size_t>(values_[items.front()].number)];
      return instance_of(std::string(global.module), std::string(global.name), items.size() - 1);
    }
    case 0x92: {  // NEWOBJ_EX
      ValueId keywords = 0, arguments = 0, object_class = 0;
      if (!pop(keywords) || !pop(arguments) || !pop(object_class)) return false;
      if (!values_.is(object_class, ValueKind::global)) return broken("NEWOBJ_EX without a class");
      const GlobalUse& global = globals_[static_cast<std::size_t>(values_[object_class].number)];
      return instance_of(std::string(global.module), std::string(global.name), 0);
    }
    case 0x93: return stack_global();
    case 'R': return reduce(false);
    case 0x81: return reduce(true);
    case 'b': return build();
    case 'Q': return persistent_id();
    default: {
      const auto known = std::ranges::find(refused, code, &RefusedOpcode::code);
      return fail("pt-opcode", known == std::end(refused)
                                   ? fmt::format("opcode {:#04x} does not exist", code)
                                   : fmt::format("opcode {} has no place in a checkpoint", known->name));
    }
  }
}

bool PickleMachine::push_container(u8 code) {
  std::vector<ValueId> items;
  switch (code) {
    case ')': return push(values_.add_tuple({}));
    case ']': return push(values_.add_container(ValueKind::list));
    case '}': return push(values_.add_container(ValueKind::dict));
    case 0x8f: return push(values_.add_container(ValueKind::set));
    case 't': return pop_to_mark(items) && push(values_.add_tuple(items));
    case 'l': return pop_to_mark(items) && push(values_.add_container(ValueKind::list, items));
    case 0x91: return pop_to_mark(items) && push(values_.add_container(ValueKind::set, items));
    case 'd':
      if (!pop_to_mark(items)) return false;
      if (items.size() % 2 != 0) return broken("DICT with a key that has no value");
      return push(values_.add_container(ValueKind::dict, items));
    default: {  // TUPLE1, TUPLE2, TUPLE3
      std::array<ValueId, 3> few{};
      const std::size_t count = code - 0x84u;
      for (std::size_t i = count; i-- > 0;) {
        if (!pop(few[i])) return false;
      }
      return push(values_.add_tuple(std::span(few).first(count)));
    }
  }
}

bool PickleMachine::top_container(ValueKind kind, ValueId& value, std::string_view opcode) {
  if (!pop(value)) return false;
  stack_.push_back(value);
  const ValueKind have = values_[value].kind;
  return have == kind || have == ValueKind::opaque || broken(fmt::format("{} on {}", opcode, kind_name(have)));
}

bool PickleMachine::change_container(u8 code) {
  std::vector<ValueId> items;
  if (code == 'a') {
    items.resize(1);
    if (!pop(items[0])) return false;
  } else if (code == 's') {
    items.resize(2);
    if (!pop(items[1]) || !pop(items[0])) return false;
  } else if (!pop_to_mark(items)) {
    return false;
  }
  const bool is_dict = code == 's' || code == 'u';
  const ValueKind kind = is_dict ? ValueKind::dict : code == 0x90 ? ValueKind::set : ValueKind::list;
  const std::string_view name = is_dict ? "SETITEM" : code == 0x90 ? "ADDITEMS" : "APPEND";
  ValueId container = 0;
  if (!top_container(kind, container, name)) return false;
  if (is_dict && items.size() % 2 != 0) return broken("SETITEMS with a key that has no value");
  if (values_.is(container, kind)) values_.append(container, items);
  return true;
}

bool PickleMachine::parse_slot(std::string_view line, u64& slot) {
  const auto [end, problem] = std::from_chars(line.data(), line.data() + line.size(), slot);
  return (problem == std::errc() && end == line.data() + line.size()) || broken("a memo slot is not a number");
}

bool PickleMachine::change_memo(u8 code) {
  std::string_view line;
  u64 slot = 0;
  u8 short_slot = 0;
  u32 long_slot = 0;
  switch (code) {
    case 'p': return take_line(line) && parse_slot(line, slot) && remember(slot);
    case 'q': return take_number(short_slot) && remember(short_slot);
    case 'r': return take_number(long_slot) && remember(long_slot);
    case 'g': return take_line(line) && parse_slot(line, slot) && recall(slot);
    case 'h': return take_number(short_slot) && recall(short_slot);
    case 'j': return take_number(long_slot) && recall(long_slot);
    default: return remember(memo_.size() + sparse_memo_.size());  // MEMOIZE
  }
}

bool PickleMachine::remember(u64 slot) {
  ValueId top = 0;
  if (!pop(top)) return false;
  stack_.push_back(top);
  if (slot < memo_.size()) {
    memo_[slot] = top;
  } else if (slot == memo_.size() && memo_.size() < max_memo) {
    memo_.push_back(top);
  } else if (sparse_memo_.size() < max_memo / 4) {
    sparse_memo_[slot] = top;  // any number is legal; a table of that size is not
  } else {
    return fail("pt-limit", "uses too many memo slots out of order");
  }
  return true;
}

bool PickleMachine::recall(u64 slot) {
  if (const auto found = sparse_memo_.find(slot); found != sparse_memo_.end()) return push(found->second);
  if (slot < memo_.size()) return push(memo_[slot]);
  return broken(fmt::format("memo slot {} is empty", slot));
}

bool PickleMachine::push_global(std::string_view module, std::string_view name) {
  if (globals_.size() >= max_globals) return fail("pt-limit", fmt::format("names more than {} globals", max_globals));
  globals_.push_back({std::string(module), std::string(name), known_global(module, name), opcode_at_, {}, {}});
  return push(values_.add({ValueKind::global, false, 0, static_cast<i64>(globals_.size() - 1)}));
}

bool PickleMachine::stack_global() {
  ValueId name = 0, module = 0;
  if (!pop(name) || !pop(module)) return false;
  if (!values_.is(name, ValueKind::text) || !values_.is(module, ValueKind::text)) {
    return broken("STACK_GLOBAL with names that are not texts");
  }
  return push_global(std::string(values_.text(module)), std::string(values_.text(name)));
}

/// An object made by an opcode that torch never writes: its class is named.
bool PickleMachine::instance_of(std::string_view module, std::string_view name, u64 arguments) {
  GlobalUse use{
      std::string(module), std::string(name), {},
      opcode_at_,          opcode_at_,        fmt::format("{} argument{}", arguments, arguments == 1 ? "" : "s")};
  if (globals_.size() >= max_globals) return fail("pt-limit", fmt::format("names more than {} globals", max_globals));
  globals_.push_back(std::move(use));
  return push(values_.add({ValueKind::opaque, false, 0, 0}));
}

bool PickleMachine::reduce(bool is_new_object) {
  ValueId arguments = 0, function = 0;
  if (!pop(arguments) || !pop(function)) return false;
  const std::string_view opcode = is_new_object ? "NEWOBJ" : "REDUCE";
  if (!values_.is(arguments, ValueKind::tuple))
    return broken(fmt::format("{} with arguments that are not a tuple", opcode));
  if (values_.is(function, ValueKind::opaque)) return push(values_.add({ValueKind::opaque, false, 0, 0}));
  if (!values_.is(function, ValueKind::global)) {
    return broken(fmt::format("{} calls {}", opcode, kind_name(values_[function].kind)));
  }
  GlobalUse& global = globals_[static_cast<std::size_t>(values_[function].number)];
  if (global.known) return call(global, arguments);
  if (!global.called_at) {
    global.called_at = opcode_at_;
    global.arguments = arguments_text(arguments);
  }
  return push(values_.add({ValueKind::opaque, false, 0, 0}));
}

bool PickleMachine::build() {
  ValueId state = 0, object = 0;
  if (!pop(state) || !pop(object)) return false;
  stack_.push_back(object);
  const Value& value = values_[object];
  return value.takes_state || value.kind == ValueKind::opaque ||
         broken(fmt::format("BUILD on {}", kind_name(value.kind)));
}

bool PickleMachine::persistent_id() {
  ValueId id = 0, made = no_value;
  if (!pop(id)) return false;
  if (!values_.is(id, ValueKind::tuple)) return fail("pt-storage", "a persistent id that is not a tuple");
  const std::span<const ValueId> items = values_.items(id);
  return rebuild_storage(std::vector<ValueId>(items.begin(), items.end()), made) && push(made);
}

FindingLog PickleMachine::take_findings() {
  FindingLog all;
  // One finding a name, of its first call if it has one.
  std::unordered_map<std::string, std::size_t> first;
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < globals_.size(); ++i) {
    if (globals_[i].known) continue;
    const auto [known, is_new] = first.emplace(globals_[i].full_name(), shown.size());
    if (is_new) {
      shown.push_back(i);
    } else if (std::size_t& kept = shown[known->second]; !globals_[kept].called_at && globals_[i].called_at) {
      kept = i;
    }
  }
  for (const std::size_t i : shown) {
    const GlobalUse& global = globals_[i];
    const u64 at = global.called_at.value_or(global.position);
    std::optional<u64> offset;
    if (base_) offset = *base_ + at;
    all.error(Scope::container, "pt-global",
              global.called_at
                  ? fmt::format("calls {} with {} at byte {} of {}: the file is a program, not only tensors; do not "
                                "load it with torch",
                                global.full_name(), global.arguments, at, name_)
                  : fmt::format("names {} at byte {} of {}, which makes no tensor", global.full_name(), at, name_),
              {}, offset);
  }
  all.add_all(std::move(findings_));
  return all;
}

}  // namespace modelutils::pytorch
