#include "formats/pytorch/resolve.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>
#include <unordered_map>

#include "base/byte_reader.h"
#include "base/text.h"
#include "base/types.h"

namespace modelutils::pytorch {

namespace {

constexpr u64 most_bytes = std::numeric_limits<i64>::max();

/// Returns the index after the last element accessed, 0 for an empty tensor; nullopt on overflow.
std::optional<u64> reach(u64 offset, const std::vector<u64>& shape, const std::vector<u64>& strides, u64 elements) {
  if (elements == 0) return 0;
  std::optional<u64> last = offset;
  for (std::size_t i = 0; i < shape.size() && last; ++i) {
    const std::optional<u64> step = checked_mul(shape[i] - 1, strides[i]);
    last = step ? checked_add(*last, *step) : std::nullopt;
  }
  return last ? checked_add(*last, 1) : std::nullopt;
}

bool is_contiguous(const std::vector<u64>& shape, const std::vector<u64>& strides) {
  u64 expected = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 1) continue;
    if (strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

/// Location and size of a tensor's elements.
struct Elements {
  std::vector<u64> shape, strides;
  u64 count = 0;
  u64 bytes = 0;
  u64 offset = 0;  // in bytes, relative to the storage
};

class Resolver {
 public:
  Resolver(const PickleMachine& machine, const LocateStorage& locate, Document& document)
      : machine_(machine), locate_(locate), document_(document) {}

  void add(NamedTensor named);
  /// Applies torch's checks to tensors and storages without a name.
  void check_others(const std::vector<NamedTensor>& named);
  void check_expansion();

 private:
  void error(std::string_view code, std::string message, const std::string& where) {
    document_.findings.error(Scope::container, code, std::move(message), where);
  }
  const StorageUse& storage_use(const TensorUse& use) const {
    return machine_.storages()[static_cast<std::size_t>(machine_.values()[use.storage].number)];
  }
  /// Returns nullopt, after a finding, if an element is outside the storage.
  std::optional<Elements> elements_of(const TensorUse& use, const std::string& where);
  /// Returns the storage's index in the document, adding it first if necessary. Views share the entry of their root.
  std::size_t storage_of(const StorageUse& use);

  const PickleMachine& machine_;
  const LocateStorage& locate_;
  Document& document_;
  std::unordered_map<std::string, std::size_t> storages_;
};

std::size_t Resolver::storage_of(const StorageUse& use) {
  const auto [known, is_new] = storages_.emplace(use.key, document_.storages.size());
  if (is_new) {
    Storage storage{use.key, use.storage_class.element_bytes, use.elements, false, 0, 0, {}};
    storage.is_there = locate_(storage);
    document_.storages.push_back(std::move(storage));
  }
  return known->second;
}

std::optional<Elements> Resolver::elements_of(const TensorUse& use, const std::string& where) {
  const auto wrong = [&](std::string_view code, std::string message) {
    error(code, std::move(message), where);
    return std::nullopt;
  };
  const StorageUse& storage = storage_use(use);
  Elements found{machine_.numbers(use.shape), machine_.numbers(use.strides)};
  // Like torch: the product of all sizes must fit, even if one of them is 0.
  const std::optional<u64> count = checked_product(found.shape);
  const std::optional<u64> bytes = count ? checked_mul(*count, use.element_bytes) : std::nullopt;
  if (!bytes || *bytes > most_bytes) return wrong("pt-tensor", "the product of its sizes exceeds 63 bits");
  const u32 stored_width = storage.storage_class.element_bytes;
  const std::optional<u64> root_bytes = checked_mul(storage.elements, stored_width);
  if (!root_bytes || *root_bytes > most_bytes) {
    return wrong("pt-storage", "the size of its storage exceeds 63 bits");
  }
  // Elements in the storage, or in the view of it, by the tensor's element size.
  const u64 held = storage.view_elements * stored_width / use.element_bytes;
  const std::optional<u64> end = reach(use.offset, found.shape, found.strides, *count);
  if (!end || *end > held) {
    return wrong("pt-tensor", fmt::format("reaches element {} of its storage, which has {}",
                                          end ? fmt::format("{}", *end) : "2^64 or more", held));
  }
  found.count = *count;
  found.bytes = *bytes;
  // An empty tensor may have any offset.
  if (*bytes > 0) found.offset = use.offset * use.element_bytes + storage.view_offset * stored_width;
  return found;
}

void Resolver::add(NamedTensor named) {
  const TensorUse& use = machine_.tensors()[named.tensor];
  const std::string where = at_tensor(named.name);
  if (!use.type) {
    return error("pt-tensor",
                 fmt::format("has elements of {} bytes of a type that safetensors does not have", use.element_bytes),
                 where);
  }
  std::optional<Elements> elements = elements_of(use, where);
  if (!elements) return;
  const std::size_t storage = storage_of(storage_use(use));
  if (elements->bytes > 0 && !document_.storages[storage].is_there) return;  // reported by locate_ already
  const bool contiguous = is_contiguous(elements->shape, elements->strides);
  document_.tensors.push_back({.name = std::move(named.name),
                               .type = *use.type,
                               .shape = std::move(elements->shape),
                               .strides = std::move(elements->strides),
                               .elements = elements->count,
                               .bytes = elements->bytes,
                               .storage = storage,
                               .offset = elements->offset,
                               .is_contiguous = contiguous,
                               .pickle_offset = use.position});
}

void Resolver::check_others(const std::vector<NamedTensor>& named) {
  std::vector<bool> is_named(machine_.tensors().size());
  for (const NamedTensor& each : named) is_named[each.tensor] = true;
  for (std::size_t i = 0; i < is_named.size(); ++i) {
    if (!is_named[i]) elements_of(machine_.tensors()[i], "a tensor without a name");
  }
  for (const StorageUse& use : machine_.storages()) {
    const std::optional<u64> bytes = checked_mul(use.elements, use.storage_class.element_bytes);
    if (bytes && *bytes <= most_bytes) {
      storage_of(use);
    } else {
      error("pt-storage", fmt::format("the size of the storage '{}' exceeds 63 bits", use.key), {});
    }
  }
}

/// Views may repeat or share elements. A file whose tensors have far more values than it stores is not a model, and
/// reading all of them would cost as much as the tensors' total size.
void Resolver::check_expansion() {
  constexpr u64 times = 16, free_bytes = u64{1} << 30;
  const u64 most =
      checked_add(checked_mul(document_.file_size, times).value_or(most_bytes), free_bytes).value_or(most_bytes);
  u64 total = 0;
  for (std::size_t i = 0; i < document_.tensors.size(); ++i) {
    const Tensor& tensor = document_.tensors[i];
    total = checked_add(total, tensor.bytes).value_or(most_bytes);
    if (total <= most) continue;
    document_.findings.error(
        Scope::container, "pt-expanded",
        fmt::format("the views up to this tensor take more than {} bytes, which is {} times the file's size plus {}",
                    most, times, byte_text(free_bytes)),
        at_tensor(tensor.name));
    document_.tensors.resize(i);
    return;
  }
}

}  // namespace

void add_tensors(const PickleMachine& machine, const LocateStorage& locate, Document& document) {
  Resolver resolver(machine, locate, document);
  std::vector<NamedTensor> named = named_tensors(machine, document.file_size, document.findings);
  for (NamedTensor& each : named) resolver.add(std::move(each));
  resolver.check_others(named);  // needs only their indices; add() has moved the rest
  resolver.check_expansion();
  document.wrapper = wrapper_key(machine);
}

// Reads the legacy form: five pickles followed by the storages. Each pickle may be hostile. Source:
// docs/formats/pytorch.md, "The legacy form".

namespace {

// 0x1950a86a20f9469cfc6c, little-endian, as the argument of LONG1.
constexpr std::string_view magic("\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 10);
constexpr i64 protocol_version = 1001;

constexpr std::size_t tar_block_bytes = 512, tar_checksum_at = 148, tar_checksum_bytes = 8;

/// Parses a number in a tar header: octal digits, or big-endian bytes after a marker byte. Python accepts further forms
/// (spaces, a sign, "0o", underscores). This skips all such characters, so that it accepts everything Python does.
std::optional<i64> tar_number(std::string_view field) {
  const auto first = static_cast<u8>(field.front());
  if (first == 0x80 || first == 0xff) {
    u64 number = 0;
    for (const char c : field.substr(1)) number = number << 8 | static_cast<u8>(c);
    constexpr u64 negative = u64{1} << 56;  // 2^56: seven bytes follow the marker
    return first == 0x80 ? static_cast<i64>(number) : static_cast<i64>(number) - static_cast<i64>(negative);
  }
  i64 number = 0;
  bool is_negative = false;
  for (const char c : field.substr(0, field.find('\0'))) {
    if (c >= '0' && c <= '7') {
      number = number * 8 + (c - '0');
    } else if (c == '-') {
      is_negative = true;
    } else if (std::string_view(" \t\n\v\f\r\x1c\x1d\x1e\x1f+_oO").find(c) == std::string_view::npos) {
      return std::nullopt;
    }
  }
  return is_negative ? -number : number;
}

/// True if Python's tarfile accepts these 512 bytes as a member's header: it compares the checksum field with the sum
/// of the other bytes, taken as signed or unsigned.
bool is_tar_header(std::string_view block) {
  i64 with_sign = tar_checksum_bytes * ' ', without = with_sign;
  for (std::size_t i = 0; i < block.size(); ++i) {
    if (i >= tar_checksum_at && i < tar_checksum_at + tar_checksum_bytes) continue;
    without += static_cast<u8>(block[i]);
    with_sign += static_cast<i8>(block[i]);
  }
  const std::optional<i64> stated = tar_number(block.substr(tar_checksum_at, tar_checksum_bytes));
  return stated && (*stated == without || *stated == with_sign);
}

/// Guesses the program that wrote the pickle from the globals reported in `log`.
std::string_view maker_of(const FindingLog& log) {
  const auto names = [&](std::string_view module) {
    const Findings findings = log.findings();
    return std::ranges::any_of(findings, [&](const Finding& finding) {
      return finding.code == "pt-global" && finding.message.find(module) != std::string::npos;
    });
  };
  if (names(" joblib.")) return "a joblib dump";
  return names(" dill.") ? "a dill dump" : "a Python pickle";
}

class LegacyReader {
 public:
  LegacyReader(const ByteSource& source, Document& document) : source_(source), document_(document) {}

  Status parse();

 private:
  void error(std::string_view code, std::string message, std::optional<u64> offset = {}) {
    document_.findings.error(Scope::container, code, std::move(message), {}, offset);
  }
  Status check_tar();
  /// Runs the next pickle. Returns nullopt, after a finding, if it is invalid. If the pickle does not end within the
  /// bytes read so far, they are read again, each time twice as many.
  Result<std::optional<PickleMachine>> next(std::string_view name);
  Status read_storages(const PickleMachine& object, const PickleMachine& keys);

  const ByteSource& source_;
  Document& document_;
  u64 position_ = 0;
  std::vector<std::byte> piece_;
  u64 piece_at_ = 0;
};

/// torch tries tar first: it reads a file that starts with a valid tar header as an archive.
Status LegacyReader::check_tar() {
  std::string block(tar_block_bytes, '\0');
  if (document_.file_size < block.size()) return {};
  MU_TRY(source_.read_exact(0, std::as_writable_bytes(std::span(block))));
  if (is_tar_header(block)) {
    error("pt-legacy", "is also a tar archive, which torch tries before pickles", tar_checksum_at);
  }
  return {};
}

Result<std::optional<PickleMachine>> LegacyReader::next(std::string_view name) {
  constexpr u64 first_piece = 1 << 20;
  const u64 rest = document_.file_size - position_;
  const u64 most = std::min(rest, max_pickle_bytes);
  while (true) {
    const u64 behind = position_ - piece_at_;
    const Bytes bytes = behind < piece_.size() ? Bytes(piece_).subspan(behind) : Bytes();
    PickleMachine machine(std::string(name), position_, CheckpointForm::legacy);
    const bool is_whole = machine.run(bytes);
    if (!is_whole && machine.ended() && bytes.size() < most) {
      const u64 size = std::min(std::max<u64>(first_piece, bytes.size() * 2), most);
      piece_at_ = position_;
      piece_.resize(size);
      MU_TRY(source_.read_exact(position_, piece_));
      continue;
    }
    document_.findings.add_all(machine.take_findings());
    position_ += machine.used();
    if (!is_whole) return std::optional<PickleMachine>();
    return std::optional<PickleMachine>(std::move(machine));
  }
}

Status LegacyReader::parse() {
  MU_TRY(check_tar());
  MU_ASSIGN(std::optional<PickleMachine> first, next("the magic number's pickle"));
  if (!first) return {};
  const Values& values = first->values();
  if (!values.is(first->root(), ValueKind::big_integer) || values.text(first->root()) != magic) {
    error("pt-legacy",
          fmt::format("is {}, not a checkpoint: it does not begin with torch's magic number",
                      maker_of(document_.findings)),
          0);
    // Report also what the remaining pickles would load.
    while (position_ < document_.file_size) {
      MU_ASSIGN(std::optional<PickleMachine> more, next("the next pickle"));
      if (!more || more->used() == 0) break;
    }
    return {};
  }
  const u64 version_at = position_;
  MU_ASSIGN(std::optional<PickleMachine> version, next("the protocol's pickle"));
  if (!version) return {};
  const Value& number = version->values()[version->root()];
  if (number.kind != ValueKind::integer || number.number != protocol_version) {
    error("pt-legacy", fmt::format("its protocol is not {}", protocol_version), version_at);
    return {};
  }
  MU_ASSIGN(const std::optional<PickleMachine> system, next("the system's pickle"));
  if (!system) return {};
  MU_ASSIGN(const std::optional<PickleMachine> object, next("the object's pickle"));
  if (!object) return {};
  MU_ASSIGN(const std::optional<PickleMachine> keys, next("the storage keys' pickle"));
  if (!keys) return {};
  return read_storages(*object, *keys);
}

Status LegacyReader::read_storages(const PickleMachine& object, const PickleMachine& keys) {
  struct Found {
    u64 offset = 0;
    u64 elements = 0;
  };
  std::unordered_map<std::string, u32> element_bytes;
  for (const StorageUse& use : object.storages()) element_bytes.emplace(use.key, use.storage_class.element_bytes);
  std::unordered_map<std::string, Found> found;
  if (!keys.values().is(keys.root(), ValueKind::list)) {
    error("pt-legacy", "the list of storage keys is not a list");
    return {};
  }
  for (const ValueId key : keys.values().items(keys.root())) {
    if (!keys.values().is(key, ValueKind::text)) {
      error("pt-legacy", "a storage key is not a text");
      return {};
    }
    const std::string name(keys.values().text(key));
    const auto width = element_bytes.find(name);
    if (width == element_bytes.end()) {
      error("pt-storage", fmt::format("the storage '{}' belongs to no tensor", name), position_);
      return {};
    }
    std::array<std::byte, 8> count_bytes;
    if (!fits(position_, count_bytes.size(), document_.file_size)) {
      error("pt-storage", fmt::format("the storage '{}' is cut off", name), position_);
      return {};
    }
    MU_TRY(source_.read_exact(position_, count_bytes));
    const auto count = load<u64>(count_bytes.data());
    const std::optional<u64> bytes = checked_mul(count, width->second);
    if (!bytes || !fits(position_ + count_bytes.size(), *bytes, document_.file_size)) {
      error("pt-storage", fmt::format("the storage '{}' claims {} elements, more than the file has left", name, count),
            position_);
      return {};
    }
    if (!found.emplace(name, Found{position_ + count_bytes.size(), count}).second) {
      error("pt-storage", fmt::format("the storage '{}' is listed twice", name), position_);
      return {};
    }
    position_ += count_bytes.size() + *bytes;
  }
  if (position_ < document_.file_size) {
    error("pt-legacy",
          fmt::format("{} bytes after the last storage are unaccounted for", document_.file_size - position_),
          position_);
  }
  const auto locate = [&](Storage& storage) {
    const auto at = found.find(storage.key);
    if (at == found.end()) {
      error("pt-storage", fmt::format("the storage '{}' is not in the list of keys", storage.key));
      return false;
    }
    if (at->second.elements != storage.elements) {
      error("pt-storage",
            fmt::format("the storage '{}' has {} elements, the pickle says {}", storage.key, at->second.elements,
                        storage.elements),
            at->second.offset);
      return false;
    }
    storage.offset = at->second.offset;
    storage.bytes = at->second.elements * storage.element_bytes;
    return true;
  };
  add_tensors(object, locate, document_);
  document_.complete = true;
  return {};
}

}  // namespace

Status parse_legacy(const ByteSource& source, Document& document) {
  return LegacyReader(source, document).parse();
}

}  // namespace modelutils::pytorch
