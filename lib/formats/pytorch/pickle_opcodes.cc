#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>

#include "base/parse_number.h"
#include "formats/pytorch/pickle_machine.h"

namespace modelutils::pytorch {

// The names that a pickle may import, and the opcodes that import or call a function or class.

namespace {

struct Row {
  std::string_view module;
  std::string_view name;
  GlobalRole role;
};

constexpr Row rows[] = {
    {"collections", "OrderedDict", GlobalRole::ordered_dict},
    {"collections", "Counter", GlobalRole::counter},
    {"_codecs", "encode", GlobalRole::encode},
    {"builtins", "set", GlobalRole::set},
    {"builtins", "frozenset", GlobalRole::set},
    {"builtins", "bytearray", GlobalRole::plain},
    {"builtins", "complex", GlobalRole::plain},
    {"__builtin__", "set", GlobalRole::set},
    {"__builtin__", "frozenset", GlobalRole::set},
    {"__builtin__", "bytearray", GlobalRole::plain},
    {"__builtin__", "complex", GlobalRole::plain},
    {"torch", "Size", GlobalRole::size},
    {"torch", "device", GlobalRole::plain},
    {"torch.serialization", "_get_layout", GlobalRole::plain},
    {"numpy.core.multiarray", "scalar", GlobalRole::plain},
    {"numpy._core.multiarray", "scalar", GlobalRole::plain},
    {"numpy", "dtype", GlobalRole::numpy_dtype},
    {"torch._utils", "_rebuild_tensor", GlobalRole::rebuild_tensor},
    {"torch._utils", "_rebuild_tensor_v2", GlobalRole::rebuild_tensor_v2},
    {"torch._utils", "_rebuild_tensor_v3", GlobalRole::rebuild_tensor_v3},
    {"torch._utils", "_rebuild_parameter", GlobalRole::rebuild_parameter},
    {"torch._utils", "_rebuild_parameter_with_state", GlobalRole::rebuild_parameter_with_state},
    {"torch.nn.parameter", "Parameter", GlobalRole::parameter},
};

/// An element type: torch's dtype, its older alias, and the matching storage class.
struct Element {
  std::string_view dtype;
  std::string_view alias;
  std::string_view storage;
  std::optional<TensorType> type;
  u32 bytes;
};

constexpr Element element_types[] = {
    {"float32", "float", "FloatStorage", TensorType::F32, 4},
    {"float16", "half", "HalfStorage", TensorType::F16, 2},
    {"bfloat16", {}, "BFloat16Storage", TensorType::BF16, 2},
    {"float64", "double", "DoubleStorage", TensorType::F64, 8},
    {"int8", {}, "CharStorage", TensorType::I8, 1},
    {"uint8", {}, "ByteStorage", TensorType::U8, 1},
    {"int16", "short", "ShortStorage", TensorType::I16, 2},
    {"int32", "int", "IntStorage", TensorType::I32, 4},
    {"int64", "long", "LongStorage", TensorType::I64, 8},
    {"bool", {}, "BoolStorage", TensorType::BOOL, 1},
    {"complex64", "cfloat", "ComplexFloatStorage", TensorType::C64, 8},
    {"complex128", "cdouble", "ComplexDoubleStorage", std::nullopt, 16},
    {"uint16", {}, {}, TensorType::U16, 2},
    {"uint32", {}, {}, TensorType::U32, 4},
    {"uint64", {}, {}, TensorType::U64, 8},
    {"float8_e4m3fn", {}, {}, TensorType::F8_E4M3, 1},
    {"float8_e5m2", {}, {}, TensorType::F8_E5M2, 1},
    {"float8_e4m3fnuz", {}, {}, TensorType::F8_E4M3FNUZ, 1},
    {"float8_e5m2fnuz", {}, {}, TensorType::F8_E5M2FNUZ, 1},
    {"float8_e8m0fnu", {}, {}, TensorType::F8_E8M0, 1},
};

constexpr std::string_view untyped_storages[] = {"UntypedStorage", "TypedStorage"};

}  // namespace

std::optional<KnownGlobal> known_global(std::string_view module, std::string_view name) {
  for (const Row& row : rows) {
    if (row.module == module && row.name == name) return KnownGlobal{row.role, {}, 1};
  }
  if (module == "torch") {
    for (const Element& element : element_types) {
      if (name == element.dtype || (!element.alias.empty() && name == element.alias)) {
        return KnownGlobal{GlobalRole::dtype, element.type, element.bytes};
      }
    }
  }
  if (module == "torch" || module == "torch.cuda") {
    for (const Element& element : element_types) {
      if (!element.storage.empty() && name == element.storage) {
        return KnownGlobal{GlobalRole::storage_class, element.type, element.bytes};
      }
    }
  }
  if (module == "torch.storage" && std::ranges::find(untyped_storages, name) != std::end(untyped_storages)) {
    return KnownGlobal{GlobalRole::storage_class, {}, 1};
  }
  return std::nullopt;
}

namespace {

constexpr std::size_t max_globals = 1'000'000;
constexpr u8 newest_python2_protocol = 2;
constexpr u64 free_joined_bytes = u64{1} << 20;

}  // namespace

/// Enters a global into globals_ and returns its index in `number`. `is_instance`: it is instantiated by an opcode that
/// torch never writes, so even a listed name is a finding.
bool PickleMachine::enter_global(std::string_view module, std::string_view name, bool is_instance, u32& number) {
  std::string key = fmt::format("{}{}:{}\n{}", is_instance ? "new " : "", module.size(), module, name);
  const auto [known, is_new] = global_numbers_.emplace(std::move(key), static_cast<u32>(globals_.size()));
  number = known->second;
  // Python 2's module names are only valid in its protocols.
  const bool is_missing = module == "__builtin__" && protocol_ > newest_python2_protocol;
  if (!is_new) {
    if (is_missing) globals_[number].known.reset();
    return true;
  }
  if (globals_.size() >= max_globals) return fail("pt-limit", fmt::format("names more than {} globals", max_globals));
  GlobalUse use{std::string(module), std::string(name), {}, opcode_at_, {}, {}};
  if (!is_instance && !is_missing) use.known = known_global(module, name);
  globals_.push_back(std::move(use));
  return true;
}

bool PickleMachine::push_global(std::string_view module, std::string_view name) {
  u32 number = 0;
  return enter_global(module, name, false, number) && push(values_.add({ValueKind::global, false, 0, number}));
}

bool PickleMachine::stack_global() {
  ValueId name = 0, module = 0;
  if (!pop(name) || !pop(module)) return false;
  if (!values_.is(name, ValueKind::text) || !values_.is(module, ValueKind::text)) {
    return broken("STACK_GLOBAL with names that are not texts");
  }
  // Five bytes of pickle can join two long memoised texts repeatedly. So each pair is joined once, and the total length
  // of joined names is bounded by the pickle's size.
  const auto pair = static_cast<u64>(values_[module].number) << 32 | static_cast<u64>(values_[name].number);
  const auto known = stack_globals_.find(pair);
  if (known != stack_globals_.end()) return push(values_.add({ValueKind::global, false, 0, known->second}));
  joined_bytes_ += values_.text(module).size() + values_.text(name).size();
  if (joined_bytes_ > free_joined_bytes + bytes_.size()) {
    return fail("pt-limit", fmt::format("names globals of more than {} bytes", free_joined_bytes + bytes_.size()));
  }
  u32 number = 0;
  if (!enter_global(values_.text(module), values_.text(name), false, number)) return false;
  stack_globals_.emplace(pair, number);
  return push(values_.add({ValueKind::global, false, 0, number}));
}

/// Records an object made by an opcode that torch never writes, with its class.
bool PickleMachine::instance_of(std::string_view module, std::string_view name, u64 arguments) {
  u32 number = 0;
  if (!enter_global(module, name, true, number)) return false;
  GlobalUse& use = globals_[number];
  if (!use.called_at) {
    use.called_at = opcode_at_;
    use.arguments = fmt::format("{} argument{}", arguments, arguments == 1 ? "" : "s");
  }
  return push(values_.add({ValueKind::opaque, false, 0, 0}));
}

bool PickleMachine::instance_of(ValueId object_class, std::string_view opcode, u64 arguments) {
  if (!values_.is(object_class, ValueKind::global)) return broken(fmt::format("{} without a class", opcode));
  GlobalUse& global = globals_[static_cast<std::size_t>(values_[object_class].number)];
  global.known.reset();
  if (!global.called_at) {
    global.called_at = opcode_at_;
    global.arguments = fmt::format("{} argument{}", arguments, arguments == 1 ? "" : "s");
  }
  return push(values_.add({ValueKind::opaque, false, 0, 0}));
}

bool PickleMachine::reduce(bool is_new_object) {
  ValueId arguments = 0, function = 0;
  if (!pop(arguments) || !pop(function)) return false;
  const std::string_view opcode = is_new_object ? "NEWOBJ" : "REDUCE";
  if (!values_.is(arguments, ValueKind::tuple)) {
    return broken(fmt::format("{} with arguments that are not a tuple", opcode));
  }
  if (values_.is(function, ValueKind::opaque)) return push(values_.add({ValueKind::opaque, false, 0, 0}));
  if (!values_.is(function, ValueKind::global)) {
    return broken(fmt::format("{} calls {}", opcode, kind_name(values_[function].kind)));
  }
  GlobalUse& global = globals_[static_cast<std::size_t>(values_[function].number)];
  if (global.known) return call(global, arguments, is_new_object);
  if (!global.called_at) {
    global.called_at = opcode_at_;
    global.arguments = arguments_text(arguments);
  }
  return push(values_.add({ValueKind::opaque, false, 0, 0}));
}

FindingLog PickleMachine::take_findings() {
  FindingLog all;
  for (const GlobalUse& global : globals_) {
    if (global.known) continue;
    const u64 at = global.called_at.value_or(global.position);
    std::optional<u64> offset;
    if (base_) offset = *base_ + at;
    all.error(
        Scope::container, "pt-global",
        global.called_at
            ? fmt::format("calls {} with {} at byte {} of {}: the file is a program, not only tensors; do not "
                          "load it with torch",
                          global.full_name(), global.arguments, at, name_)
            : fmt::format("names {} at byte {} of {}, which does not build a tensor", global.full_name(), at, name_),
        {}, offset);
  }
  all.add_all(std::move(findings_));
  return all;
}

// Opcodes that push numbers, text and bytes.

namespace {

/// True for integers as Python prints them. Python also accepts other forms (octal, hexadecimal, spaces, underscores,
/// "+1"), and its two unpicklers differ in which.
bool is_plain_decimal(std::string_view line) {
  const bool is_negative = line.starts_with('-');
  if (is_negative) line.remove_prefix(1);
  if (line.empty() || !std::ranges::all_of(line, [](char c) { return c >= '0' && c <= '9'; })) return false;
  return line.front() != '0' || (line.size() == 1 && !is_negative);
}

bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

}  // namespace

bool PickleMachine::push_number(u8 code) {
  const auto integer = [&](i64 number) { return push(values_.integer(number)); };
  switch (code) {
    case 'N': return push(values_.none());
    case 0x88:
    case 0x89: return push(values_.boolean(code == 0x88));
    case 'J': {
      i32 number = 0;
      return take_number(number) && integer(number);
    }
    case 'K': {
      u8 number = 0;
      return take_number(number) && integer(number);
    }
    case 'M': {
      u16 number = 0;
      return take_number(number) && integer(number);
    }
    case 'G': {  // a big-endian double
      std::string_view text;
      return take(8, text) && push(values_.real(std::bit_cast<double>(load<u64>(text.data(), true))));
    }
    case 'F': {
      std::string_view line;
      double number = 0;
      if (!take_line(line)) return false;
      const auto [end, problem] = number_from_chars(line.data(), line.data() + line.size(), number);
      const bool is_whole = end == line.data() + line.size() && problem != std::errc::invalid_argument;
      return is_whole ? push(values_.real(number)) : broken("a line is not a floating-point number");
    }
    case 'I': {
      std::string_view line;
      if (!take_line(line)) return false;
      if (line == "00" || line == "01") return push(values_.boolean(line == "01"));
      return push_decimal(line);
    }
    case 'L': {
      std::string_view line;
      if (!take_line(line)) return false;
      if (line.ends_with('L')) line.remove_suffix(1);
      return push_decimal(line);
    }
    case 0x8a: {
      std::string_view text;
      return take_counted<u8>(text) && push_long(text);
    }
    default: {  // LONG4: a signed length
      i32 size = 0;
      std::string_view text;
      if (!take_number(size)) return false;
      return size < 0 ? broken("a number of negative length") : take(static_cast<u64>(size), text) && push_long(text);
    }
  }
}

bool PickleMachine::push_decimal(std::string_view line) {
  if (!is_plain_decimal(line)) return broken("a line is not a decimal number without leading zeros");
  i64 number = 0;
  const auto [end, problem] = std::from_chars(line.data(), line.data() + line.size(), number);
  if (problem == std::errc()) return push(values_.integer(number));
  return push(values_.add_text(ValueKind::big_integer, line));
}

bool PickleMachine::push_long(std::string_view little_endian) {
  if (little_endian.size() > 8) {
    // Padding with sign bytes does not change the number.
    const char sign = (little_endian[7] & 0x80) != 0 ? '\xff' : '\0';
    if (little_endian.find_first_not_of(sign, 8) != little_endian.npos) {
      // In a valid file, this can only be torch's magic number, which is recognised by its bytes.
      const ValueId id = values_.add_text(ValueKind::big_integer, little_endian);
      return push(id);
    }
    little_endian = little_endian.substr(0, 8);
  }
  u64 number = 0;
  for (std::size_t i = 0; i < little_endian.size(); ++i) {
    number |= u64{static_cast<u8>(little_endian[i])} << (8 * i);
  }
  if (const std::size_t size = little_endian.size(); size > 0 && size < 8 && (little_endian.back() & 0x80) != 0) {
    number |= ~u64{0} << (8 * size);
  }
  return push(values_.integer(static_cast<i64>(number)));
}

bool PickleMachine::push_text(u8 code) {
  std::string_view text;
  const auto as = [&](ValueKind kind) { return push(values_.add_text(kind, text)); };
  switch (code) {
    case 'S':  // a quoted Python 2 string
      if (!take_line(text)) return false;
      if (text.size() < 2 || text.front() != text.back() || (text.front() != '\'' && text.front() != '"')) {
        return broken("STRING without quotes");
      }
      text = text.substr(1, text.size() - 2);
      if (text.find('\\') != text.npos) return broken("STRING with an escape: torch writes none");
      return as(ValueKind::text);
    case 'V':
      if (!take_line(text)) return false;
      if (text.find('\\') != text.npos) return broken("UNICODE with an escape: torch writes none");
      if (!is_ascii(text)) return broken("UNICODE with bytes that are not ASCII, which Python reads as Latin-1");
      return as(ValueKind::text);
    case 'T': {
      i32 size = 0;
      if (!take_number(size)) return false;
      if (size < 0) return broken("a string of negative length");
      return take(static_cast<u64>(size), text) && as(ValueKind::text);
    }
    case 'U': return take_counted<u8>(text) && as(ValueKind::text);
    case 'X': return take_counted<u32>(text) && as(ValueKind::text);
    case 0x8c: return take_counted<u8>(text) && as(ValueKind::text);
    case 0x8d: return take_counted<u64>(text) && as(ValueKind::text);
    case 'B': return take_counted<u32>(text) && as(ValueKind::bytes);
    case 'C': return take_counted<u8>(text) && as(ValueKind::bytes);
    default: return take_counted<u64>(text) && as(ValueKind::bytes);  // BINBYTES8, BYTEARRAY8
  }
}

}  // namespace modelutils::pytorch
