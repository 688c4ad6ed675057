#include "formats/pytorch/pickle_machine.h"

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
constexpr std::size_t max_line = 64 * 1024;  // maximum length of a name or number in text form
constexpr std::size_t max_marks = 100'000;

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
    return broken(fmt::format("an opcode needs {} bytes, {} are left", size, bytes_.size() - position_));
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
  if (stack_.empty() || (!marks_.empty() && marks_.back() == stack_.size())) return broken("pops from an empty stack");
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
  values_.merge_equal_keys();
  std::ranges::stable_sort(attachments_, {}, &Attachment::to);
  return true;
}

bool PickleMachine::step(u8 code) {
  switch (code) {
    case 0x80: {  // PROTO
      u8 protocol = 0;
      if (!take_number(protocol)) return false;
      protocol_ = protocol;
      return protocol <= newest_protocol ||
             broken(fmt::format("is of protocol {}; at most {} is allowed", protocol, newest_protocol));
    }
    case 0x95: {  // FRAME: only a hint for buffering
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
    case '0': {  // POP removes a MARK if that is on top
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
      return items.empty() ? broken("OBJ without a class") : instance_of(items.front(), "OBJ", items.size() - 1);
    }
    case 0x92: {  // NEWOBJ_EX
      ValueId keywords = 0, arguments = 0, object_class = 0;
      if (!pop(keywords) || !pop(arguments) || !pop(object_class)) return false;
      return instance_of(object_class, "NEWOBJ_EX", 0);
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
                                   : fmt::format("opcode {} is not allowed in a checkpoint", known->name));
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
    if (memo_[slot] != top) report_overwritten(slot);
    memo_[slot] = top;
  } else if (slot == memo_.size() && memo_.size() < max_memo) {
    memo_.push_back(top);
    for (auto next = sparse_memo_.find(memo_.size()); next != sparse_memo_.end();
         next = sparse_memo_.find(memo_.size())) {
      memo_.push_back(next->second);
      sparse_memo_.erase(next);
    }
  } else if (sparse_memo_.size() < max_memo / 4) {
    // Any slot number is legal, but must not determine the table's size.
    const auto known = sparse_memo_.emplace(slot, top).first;
    if (known->second != top) report_overwritten(slot);
    known->second = top;
  } else {
    return fail("pt-limit", "uses too many memo slots out of order");
  }
  return true;
}

/// The later value counts, for torch and for us. No writer does this, and scanners that do not run the pickle may miss
/// it.
void PickleMachine::report_overwritten(u64 slot) {
  findings_.error(Scope::container, "pt-memo", [&] {
    return fmt::format("memo slot {} is written twice (byte {} of {}), which no checkpoint writer does", slot,
                       opcode_at_, name_);
  });
}

bool PickleMachine::recall(u64 slot) {
  if (slot < memo_.size()) return push(memo_[slot]);
  if (const auto found = sparse_memo_.find(slot); found != sparse_memo_.end()) return push(found->second);
  return broken(fmt::format("memo slot {} is empty", slot));
}

bool PickleMachine::persistent_id() {
  ValueId id = 0, made = no_value;
  if (!pop(id)) return false;
  if (!values_.is(id, ValueKind::tuple)) return fail("pt-storage", "a persistent id that is not a tuple");
  const std::span<const ValueId> items = values_.items(id);
  return rebuild_storage(std::vector<ValueId>(items.begin(), items.end()), made) && push(made);
}

}  // namespace modelutils::pytorch
