#include "formats/gguf/parse.h"
#include "formats/gguf/foreign_types.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "base/byte_reader.h"
#include "base/text.h"
#include "base/types.h"
#include "formats/gguf/arrays.h"
#include "io/file_kind.h"

namespace modelutils::gguf {

namespace {

constexpr std::string_view gguf_magic = "GGUF";

// The shortest records: an empty key with a one-byte value; a tensor without a name or dimensions.
constexpr u64 min_key_bytes = 8 + 4 + 1;
constexpr u64 min_tensor_bytes = 8 + 4 + 4 + 8;

// A tensor with too many dimensions is skipped up to this count; beyond it, the bytes are not a tensor info.
constexpr u32 max_dims_read = 64;
// Maximum number of entries to reserve before reading any.
constexpr u64 max_entries_reserved = 4096;

// A file consists of header, kv_count keys with values, tensor_count tensor infos, padding, and data. Each step returns
// false if nothing after it can be located; it has then added the finding that says so.
class Parser {
 public:
  explicit Parser(const ByteSource& source) : reader_(source) {
    document_.name = source.name();
    document_.file_size = source.size();
  }

  Result<Document> run() {
    document_.complete = read_header() && read_keys() && read_tensors();
    if (reader_.source_error()) return tl::make_unexpected(*reader_.source_error());
    document_.header_end = reader_.offset();
    choose_alignment();
    document_.data_offset = checked_round_up(document_.header_end, document_.alignment).value_or(document_.header_end);
    if (document_.complete) mark_foreign_types(document_);
    return std::move(document_);
  }

 private:
  bool stop(std::string code, u64 offset, std::string where, std::string message, bool leads = false) {
    if (!reader_.source_error()) {
      document_.findings.add({.code = std::move(code),
                              .message = std::move(message),
                              .where = std::move(where),
                              .offset = offset,
                              .leads = leads});
    }
    return false;
  }
  bool truncated(u64 offset, std::string where, std::string_view field) {
    return stop("gguf-truncated", offset, std::move(where),
                fmt::format("incomplete: the file ends inside its header, in the {}; download it again", field), true);
  }
  // Reports a length or count that exceeds the remaining bytes: the file is truncated or the number is wrong.
  bool too_short(std::string code, u64 offset, std::string where, std::string_view message) {
    return stop(std::move(code), offset, std::move(where),
                fmt::format("incomplete or damaged: {}; download it again", message), true);
  }
  bool read_header() {
    reader_.skip(gguf_magic.size());
    document_.version = reader_.read<u32>();
    if (!reader_.ok()) return truncated(reader_.offset(), "header", "version");
    if (const u32 swapped = __builtin_bswap32(document_.version); swapped == 2 || swapped == 3) {
      document_.version = swapped;
      document_.big_endian = true;
      reader_.set_big_endian(true);
      document_.findings.warning(
          Scope::container, "gguf-big-endian",
          "the file is big-endian: it can be inspected and verified, but not converted, and most programs refuse it",
          "header", 4);
      if (swapped == 2) {
        stop("gguf-version", 4, "header", "version 2 is always little-endian; big-endian files exist since version 3");
      }
    }
    if (document_.version == 1) {
      return stop("gguf-version-1", 4, "header",
                  "GGUF version 1 is obsolete and no current program reads it; versions 2 and 3 are supported (convert "
                  "the original model again)");
    }
    if (document_.version != 2 && document_.version != 3) {
      return stop("gguf-version", 4, "header",
                  fmt::format("version is {} (0x{:x}), 2 and 3 are allowed", document_.version, document_.version));
    }
    document_.tensor_count = reader_.read<u64>();
    if (!reader_.ok()) return truncated(reader_.offset(), "header", "number of tensors");
    document_.kv_count = reader_.read<u64>();
    if (!reader_.ok()) return truncated(reader_.offset(), "header", "number of keys");
    return true;
  }

  bool read_keys() {
    if (!reader_.may_hold(document_.kv_count, min_key_bytes)) {
      return too_short(
          "gguf-kv-count", 16, "header",
          fmt::format("the number of keys is {}, but the remaining {} can hold at most {}", document_.kv_count,
                      counted(*reader_.remaining(), "byte"), *reader_.remaining() / min_key_bytes));
    }
    document_.keys.reserve(static_cast<std::size_t>(std::min(document_.kv_count, max_entries_reserved)));
    for (u64 i = 0; i < document_.kv_count; ++i) {
      if (!read_key(i)) return false;
    }
    return true;
  }

  bool read_tensors() {
    if (!reader_.may_hold(document_.tensor_count, min_tensor_bytes)) {
      return too_short("gguf-tensor-count", 8, "header",
                       fmt::format("the number of tensors is {}, but the remaining {} can hold at most {}",
                                   document_.tensor_count, counted(*reader_.remaining(), "byte"),
                                   counted(*reader_.remaining() / min_tensor_bytes, "tensor info")));
    }
    document_.tensors.reserve(static_cast<std::size_t>(std::min(document_.tensor_count, max_entries_reserved)));
    for (u64 i = 0; i < document_.tensor_count; ++i) {
      if (!read_tensor(i)) return false;
    }
    return true;
  }

  // Reads a u64 length and that many bytes. `where` is called to name the place only for an error.
  template <typename Where>
  bool read_text(std::string& text, Where&& where, std::string_view field) {
    const u64 offset = reader_.offset();
    const u64 size = reader_.read<u64>();
    if (!reader_.ok()) return truncated(offset, where(), fmt::format("length of the {}", field));
    if (!reader_.may_hold(size, 1)) {
      return too_short("gguf-length", offset, where(),
                       fmt::format("the {} takes {}, but the file has only {} left", field, counted(size, "byte"),
                                   *reader_.remaining()));
    }
    text = reader_.read_string(size);
    return reader_.ok() ||
           too_short("gguf-length", offset, where(),
                     fmt::format("the {} takes {}, but the input ends first", field, counted(size, "byte")));
  }

  bool read_key(u64 number) {
    KeyValue entry;
    entry.offset = reader_.offset();
    const auto place = [&] { return fmt::format("key {} of {}", number + 1, document_.kv_count); };
    if (!read_text(entry.key, place, "key")) return false;
    const u64 type_offset = reader_.offset();
    const u32 type_id = reader_.read<u32>();
    if (!reader_.ok()) return truncated(type_offset, at_key(entry.key), "value type");
    const std::optional<ValueType> type = value_type_from_id(type_id);
    if (!type) {
      return stop("gguf-value-type", type_offset, at_key(entry.key),
                  fmt::format("value type is {} (0x{:x}), only 0 to 12 are defined", type_id, type_id));
    }
    entry.value_offset = reader_.offset();
    if (!read_value(*type, entry)) return false;
    document_.keys.push_back(std::move(entry));
    return true;
  }

  template <typename T>
  bool read_number(KeyValue& entry) {
    entry.value = reader_.read<T>();
    return reader_.ok() || truncated(entry.value_offset, at_key(entry.key), "value");
  }

  bool read_value(ValueType type, KeyValue& entry) {
    switch (type) {
      case ValueType::u8: return read_number<u8>(entry);
      case ValueType::i8: return read_number<i8>(entry);
      case ValueType::u16: return read_number<u16>(entry);
      case ValueType::i16: return read_number<i16>(entry);
      case ValueType::u32: return read_number<u32>(entry);
      case ValueType::i32: return read_number<i32>(entry);
      case ValueType::f32: return read_number<float>(entry);
      case ValueType::u64: return read_number<u64>(entry);
      case ValueType::i64: return read_number<i64>(entry);
      case ValueType::f64: return read_number<double>(entry);
      case ValueType::boolean: return read_bool(entry);
      case ValueType::string:
        return read_text(
            entry.value.emplace<std::string>(), [&] { return at_key(entry.key); }, "string");
      case ValueType::array: return read_array(entry);
    }
    return false;
  }

  bool read_bool(KeyValue& entry) {
    const u8 byte = reader_.read<u8>();
    if (!reader_.ok()) return truncated(entry.value_offset, at_key(entry.key), "value");
    if (byte > 1) {
      document_.findings.warning(Scope::container, "gguf-bool",
                                 fmt::format("a bool is stored as {}, only 0 and 1 are allowed", byte),
                                 at_key(entry.key), entry.value_offset);
    }
    entry.value = Bool{byte};
    return true;
  }

  bool read_array(KeyValue& entry) {
    const u32 type_id = reader_.read<u32>();
    if (!reader_.ok()) return truncated(entry.value_offset, at_key(entry.key), "array's element type");
    const std::optional<ValueType> type = value_type_from_id(type_id);
    if (!type) {
      return stop("gguf-value-type", entry.value_offset, at_key(entry.key),
                  fmt::format("element type of the array is {} (0x{:x}), only 0 to 12 are defined", type_id, type_id));
    }
    ArrayRef array;
    array.element_type = *type;
    array.count = reader_.read<u64>();
    if (!reader_.ok()) return truncated(entry.value_offset, at_key(entry.key), "array's length");
    array.offset = reader_.offset();
    StringNotes notes{.marks = &document_.string_marks, .end_tokens = nullptr};
    if (entry.key == tokens_key && !has_tokens_) {
      has_tokens_ = true;
      notes.end_tokens = &document_.end_tokens;
    }
    ArrayScan scan = scan_array(reader_, array.element_type, array.count, notes);
    if (scan.problem) {
      Error& problem = *scan.problem;
      if (problem.code == "gguf-length" || problem.code == "gguf-truncated") {
        return too_short(std::move(problem.code), *problem.offset, at_key(entry.key), problem.message);
      }
      return stop(std::move(problem.code), *problem.offset, at_key(entry.key), std::move(problem.message));
    }
    if (!reader_.ok()) return false;
    if (scan.nested) {
      document_.findings.warning(
          Scope::container, "gguf-nested-array",
          "the value is an array of arrays: the format allows it, but llama.cpp refuses to load it", at_key(entry.key),
          entry.value_offset);
    }
    if (scan.bad_bool) {
      document_.findings.warning(Scope::container, "gguf-bool", "an element of a bool array is neither 0 nor 1",
                                 at_key(entry.key), *scan.bad_bool);
    }
    array.bytes = reader_.offset() - array.offset;
    entry.value = array;
    return true;
  }

  bool read_tensor(u64 number) {
    TensorInfo info;
    info.info_offset = reader_.offset();
    const auto place = [&] { return fmt::format("tensor {} of {}", number + 1, document_.tensor_count); };
    if (!read_text(info.name, place, "name")) return false;
    const u64 dims_offset = reader_.offset();
    info.n_dims = reader_.read<u32>();
    if (!reader_.ok()) return truncated(dims_offset, at_tensor(info.name), "number of dimensions");
    if (info.n_dims > max_dims) {
      stop("gguf-n-dims", dims_offset, at_tensor(info.name),
           fmt::format("n_dims is {}, at most {} are allowed ({} in image and video models)", info.n_dims,
                       ggml_limits.dims, image_limits.dims));
      if (info.n_dims > max_dims_read || !reader_.may_hold(info.n_dims, sizeof(u64))) return false;
    }
    info.ne.resize(info.n_dims);
    for (u64& dim : info.ne) dim = reader_.read<u64>();
    info.type_id = reader_.read<u32>();
    info.offset = reader_.read<u64>();
    if (!reader_.ok()) return truncated(reader_.offset(), at_tensor(info.name), "tensor info");
    document_.tensors.push_back(std::move(info));
    return true;
  }

  // Uses an alignment that a reader can handle: llama.cpp allows powers of two, the specification multiples of 8. Other
  // values are reported by the rules, and the data is expected at the default alignment.
  void choose_alignment() {
    const KeyValue* entry = document_.find("general.alignment");
    if (entry == nullptr) return;
    const u32* value = std::get_if<u32>(&entry->value);
    if (value != nullptr && *value != 0 && (is_power_of_two(*value) || *value % 8 == 0)) document_.alignment = *value;
  }

  ByteReader reader_;
  Document document_;
  bool has_tokens_ = false;
};

// Names the actual format of a file without the magic.
std::string wrong_magic_message(std::string_view head) {
  constexpr std::string_view expected = "a GGUF file starts with \"GGUF\"";
  constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
  if (head.starts_with(byte_order_mark) && head.substr(byte_order_mark.size()).starts_with(gguf_magic)) {
    return "a UTF-8 byte order mark precedes \"GGUF\": a text editor has damaged the file; download it again";
  }
  if (const FileKind kind = file_kind(head); kind != FileKind::unknown) {
    return fmt::format("this is not a GGUF file but {}", file_kind_text(kind));
  }
  // Eight bytes of header length, then JSON.
  if (head.size() > 8 && head[8] == '{') return "this is not a GGUF file: it looks like a safetensors file";
  if (head.size() < gguf_magic.size()) {
    return fmt::format("the file has only {}; {}", counted(head.size(), "byte"), expected);
  }
  std::string bytes;
  for (const char c : head.substr(0, gguf_magic.size())) {
    bytes += fmt::format("{}{:02x}", bytes.empty() ? "" : " ", static_cast<u8>(c));
  }
  return fmt::format("the file starts with the bytes {}; {}", bytes, expected);
}

}  // namespace

Result<Document> parse(const ByteSource& source) {
  ByteReader reader(source, 0, file_kind_bytes);
  if (reader.read_view(gguf_magic.size()) != gguf_magic) {
    if (reader.source_error()) return tl::make_unexpected(in_file(*reader.source_error(), source.name()));
    return input_error("gguf-magic", wrong_magic_message(read_head(source)), {}, 0, source.name());
  }
  return Parser(source).run();
}

}  // namespace modelutils::gguf
