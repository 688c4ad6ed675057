#include "formats/safetensors/header_parser.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/name_index.h"
#include "base/text.h"
#include "json/cursor.h"

namespace modelutils::safetensors {

namespace {

using json::Kind;
using json::SyntaxError;

// Entries of real models take about 100 bytes. Used to reserve memory.
constexpr std::size_t usual_entry = 96;

std::string_view kind_text(Kind kind) {
  switch (kind) {
    case Kind::array: return "an array";
    case Kind::object: return "an object";
    case Kind::number: return "a number";
    case Kind::string: return "a string";
    case Kind::boolean: return "true or false";
    default: return "null";
  }
}

/// Returns a number's text as in the file, for messages.
std::string number_text(const json::Number& number) {
  constexpr std::size_t longest = 40;
  return number.text.size() <= longest ? std::string(number.text) : std::string(number.text.substr(0, longest)) + "…";
}

/// After a syntax error, the cursor reads nothing more, so its loops end without a check.
class HeaderParser {
 public:
  HeaderParser(Storage& storage, u64 text_offset, Document& document)
      : text_(storage.text.view()),
        storage_(storage),
        text_offset_(text_offset),
        document_(document),
        log_(document.findings),
        cursor_(storage.text.span(), max_depth) {}

  void run();

 private:
  /// The three required fields of a tensor entry.
  struct Entry {
    bool has_dtype = false, has_shape = false, has_offsets = false;  // the member is present
    bool is_readable = true;                                         // every member present had the right type
    NameIndex others;
  };

  bool check_edges();
  void read_object();
  void read_metadata(u64 offset);
  void read_metadata_value(MetadataEntry& entry, NameIndex& keys, bool usable);
  void read_entry(std::string_view name, u64 offset);
  void read_member(Tensor& tensor, Entry& entry, std::string_view key);
  void read_dtype(Tensor& tensor, Entry& entry);
  void read_shape(Tensor& tensor, Entry& entry);
  void read_offsets(Tensor& tensor, Entry& entry);
  /// Reads an array of integers into numbers_. `what` is the field's name.
  void read_numbers(const Tensor& tensor, Entry& entry, std::string_view what);

  /// Records a name. Names are checked a few entries later, in groups, after their hash slots have been prefetched.
  void count_name(std::string_view name, u64 offset);
  void check_names();
  /// Reads a member's name. Sets `usable` to false and adds a finding if its escapes do not form valid text.
  bool read_name(std::string_view owner, std::string_view& name, bool& usable);
  void stopped();
  u64 key_offset() const { return text_offset_ + cursor_.key_offset(); }

  struct PendingName {
    std::string_view name;
    u32 hash = 0;
    u64 offset = 0;
  };

  const std::string_view text_;
  Storage& storage_;
  const u64 text_offset_;
  Document& document_;
  FindingLog& log_;
  json::Cursor cursor_;
  NameIndex names_;          // all entries, readable or not
  bool is_numbered_ = true;  // a name's number is its tensor's index: no duplicates, all readable
  std::array<PendingName, 16> pending_;
  std::size_t pending_count_ = 0;
  std::vector<u64> numbers_;
  std::string_view last_dtype_;  // cached because neighbours usually have the same dtype
  std::optional<TensorType> last_type_;
};

/// Checks the text before and after the object. Returns false if there is no object to read.
bool HeaderParser::check_edges() {
  const std::size_t first = text_.find_first_not_of(" \t\r\n");
  const auto refuse = [&](std::string_view code, std::size_t place, std::string message) {
    log_.error(Scope::container, code, std::move(message), {}, text_offset_ + place);
    return false;
  };
  if (text_.starts_with("\xef\xbb\xbf")) {
    return refuse("st-header-encoding", 0, "the header starts with a byte order mark, which is not allowed");
  }
  if (first == text_.npos)
    return refuse("st-header-json", 0, "the header contains only white space, not a JSON object");
  if (text_[first] != '{') {
    return refuse("st-header-object", first, "the header is not a JSON object: it must start with '{'");
  }
  if (first != 0) {
    log_.warning(Scope::container, "st-header-space",
                 "there is white space before the '{', which must be the header's first byte", {}, text_offset_);
  }
  const std::size_t last = text_.find_last_not_of(" \t\r\n");
  if (text_.find_first_of("\t\r\n", last + 1) != text_.npos) {
    log_.warning(Scope::container, "st-header-space",
                 "a tab, CR or LF follows the JSON object; only spaces are allowed there", {}, text_offset_ + last + 1);
  }
  return true;
}

void HeaderParser::run() {
  if (!check_edges()) return;
  cursor_.next();
  read_object();
  check_names();
  if (cursor_.failed()) return stopped();
  document_.complete = true;
  if (is_numbered_) document_.names = std::move(names_);
}

void HeaderParser::stopped() {
  const u64 offset = text_offset_ + cursor_.error_offset();
  if (cursor_.error() == SyntaxError::utf8) {
    log_.error(Scope::container, "st-header-encoding", "the header is not valid UTF-8", {}, offset);
  } else if (cursor_.error() == SyntaxError::depth) {
    log_.error(Scope::container, "st-header-depth",
               fmt::format("the JSON is nested more than {} levels deep", max_depth), {}, offset);
  } else {
    log_.error(Scope::container, "st-header-json",
               fmt::format("the header is not valid JSON: {}", json::syntax_text(cursor_.error())), {}, offset);
  }
}

void HeaderParser::read_object() {
  const std::size_t most = text_.size() / usual_entry + 1;
  reserve_to_fill(document_.tensors, most);
  names_.reserve(most);
  cursor_.enter();
  std::string_view name;
  for (bool usable = false; read_name({}, name, usable);) {
    if (!usable) {
      cursor_.skip();
    } else if (name == "__metadata__") {
      read_metadata(key_offset());
    } else {
      count_name(name, key_offset());
      read_entry(name, key_offset());
    }
  }
  if (!cursor_.failed() && !cursor_.at_end()) {
    log_.error(Scope::container, "st-header-trailing", "text follows the JSON object; only spaces are allowed there",
               {}, text_offset_ + cursor_.offset());
  }
}

void HeaderParser::count_name(std::string_view name, u64 offset) {
  if (pending_count_ == pending_.size()) check_names();
  const u32 hash = NameIndex::hash(name);
  names_.prefetch(hash);
  pending_[pending_count_++] = {name, hash, offset};
}

void HeaderParser::check_names() {
  for (std::size_t i = 0; i < pending_count_; ++i) {
    const PendingName& pending = pending_[i];
    if (names_.insert(pending.name, pending.hash).is_new) continue;
    is_numbered_ = false;
    log_.error(Scope::container, "st-duplicate-name", "the name appears twice in the header", at_tensor(pending.name),
               pending.offset);
  }
  pending_count_ = 0;
}

bool HeaderParser::read_name(std::string_view owner, std::string_view& name, bool& usable) {
  bool bad_escape = false;
  if (!cursor_.member(name, &bad_escape)) return false;
  usable = !bad_escape;
  if (bad_escape) {
    log_.error(Scope::container, "st-text", "a name contains an invalid escape (a lone surrogate?)", owner,
               key_offset());
  }
  return true;
}

void HeaderParser::read_metadata(u64 offset) {
  constexpr std::string_view owner = "__metadata__";
  if (document_.has_metadata) {
    log_.error(Scope::container, "st-duplicate-member", "the member appears twice in the header", owner, offset);
  }
  document_.has_metadata = true;
  const Kind kind = cursor_.next();
  if (kind == Kind::none) return;
  if (kind != Kind::object) {
    const Severity severity = kind == Kind::null ? Severity::warning : Severity::error;
    log_.add(
        severity, Scope::container, "st-metadata-type",
        [&] { return fmt::format("is {}, not an object of strings", kind_text(kind)); }, owner, offset);
    cursor_.skip();
    return;
  }
  cursor_.enter();
  NameIndex keys;
  MetadataEntry entry;
  for (bool usable = false; read_name(owner, entry.key, usable);) {
    entry.offset = key_offset();
    read_metadata_value(entry, keys, usable);
  }
}

void HeaderParser::read_metadata_value(MetadataEntry& entry, NameIndex& keys, bool usable) {
  constexpr std::string_view owner = "__metadata__";
  const Kind kind = cursor_.next();
  if (kind == Kind::none) return;
  if (kind != Kind::string) {
    log_.error(
        Scope::container, "st-metadata-type",
        [&] { return fmt::format("the value of '{}' is {}, not a string", entry.key, kind_text(kind)); }, owner,
        entry.offset);
    cursor_.skip();
    return;
  }
  bool bad_escape = false;
  if (!cursor_.string(entry.value, &bad_escape)) return;
  if (bad_escape) {
    log_.error(
        Scope::container, "st-text",
        [&] { return fmt::format("the value of '{}' contains an invalid escape", entry.key); }, owner, entry.offset);
    return;
  }
  if (!usable) return;
  if (!keys.insert(entry.key).is_new) {
    log_.error(
        Scope::container, "st-duplicate-member", [&] { return fmt::format("'{}' appears twice", entry.key); }, owner,
        entry.offset);
  }
  document_.metadata.push_back(entry);
}

void HeaderParser::read_entry(std::string_view name, u64 offset) {
  Tensor tensor;
  tensor.name = name;
  tensor.entry_offset = offset;
  const Kind kind = cursor_.next();
  if (kind == Kind::none) return;
  if (kind != Kind::object) {
    is_numbered_ = false;
    log_.error(
        Scope::container, "st-entry-type",
        [&] { return fmt::format("the entry is {}, not an object", kind_text(kind)); }, at_tensor(tensor.name),
        tensor.entry_offset);
    cursor_.skip();
    return;
  }
  cursor_.enter();
  Entry entry;
  std::string_view key;
  for (bool usable = false; read_name(tensor.name, key, usable);) {
    if (usable) {
      read_member(tensor, entry, key);
    } else {
      cursor_.skip();
    }
  }
  if (cursor_.failed()) return;
  const auto require = [&](bool present, std::string_view field_name) {
    if (present) return;
    entry.is_readable = false;
    log_.error(
        Scope::container, "st-field-missing", [&] { return fmt::format("{} is missing", field_name); },
        at_tensor(tensor.name), tensor.entry_offset);
  };
  require(entry.has_dtype, "dtype");
  require(entry.has_shape, "shape");
  require(entry.has_offsets, "data_offsets");
  if (entry.is_readable) {
    document_.tensors.push_back(tensor);
  } else {
    is_numbered_ = false;
  }
}

void HeaderParser::read_member(Tensor& tensor, Entry& entry, std::string_view key) {
  if (key == "dtype" && !entry.has_dtype) return read_dtype(tensor, entry);
  if (key == "shape" && !entry.has_shape) return read_shape(tensor, entry);
  if (key == "data_offsets" && !entry.has_offsets) return read_offsets(tensor, entry);
  const bool is_field = key == "dtype" || key == "shape" || key == "data_offsets";
  if (is_field || !entry.others.insert(key).is_new) {
    log_.error(
        Scope::container, "st-duplicate-member", [&] { return fmt::format("'{}' appears twice", key); },
        at_tensor(tensor.name), key_offset());
  } else {
    log_.warning(
        Scope::container, "st-unknown-member",
        [&] { return fmt::format("'{}' is not a member that the format defines", key); }, at_tensor(tensor.name),
        key_offset());
  }
  cursor_.skip();
}

void HeaderParser::read_dtype(Tensor& tensor, Entry& entry) {
  entry.has_dtype = true;
  const Kind kind = cursor_.next();
  bool bad_escape = false;
  if (kind == Kind::none || (kind == Kind::string && !cursor_.string(tensor.dtype, &bad_escape))) return;
  if (kind == Kind::string && !bad_escape) {
    if (tensor.dtype != last_dtype_) {
      last_dtype_ = tensor.dtype;
      last_type_ = type_from_safetensors(tensor.dtype);
    }
    tensor.type = last_type_;
    return;
  }
  entry.is_readable = false;
  if (bad_escape) {
    log_.error(Scope::container, "st-text", "dtype contains an invalid escape", at_tensor(tensor.name),
               tensor.entry_offset);
    return;
  }
  log_.error(
      Scope::container, "st-field-type", [&] { return fmt::format("dtype is {}, not a string", kind_text(kind)); },
      at_tensor(tensor.name), tensor.entry_offset);
  cursor_.skip();
}

void HeaderParser::read_numbers(const Tensor& tensor, Entry& entry, std::string_view what) {
  numbers_.clear();
  Kind kind = cursor_.next();
  if (kind == Kind::none) return;
  if (kind != Kind::array) {
    entry.is_readable = false;
    log_.error(
        Scope::container, "st-field-type",
        [&] { return fmt::format("{} is {}, not an array of whole numbers", what, kind_text(kind)); },
        at_tensor(tensor.name), tensor.entry_offset);
    cursor_.skip();
    return;
  }
  cursor_.enter();
  while (cursor_.element()) {
    kind = cursor_.next();
    if (kind == Kind::none) return;
    json::Number number;
    if (kind == Kind::number && !cursor_.number(number)) return;
    if (kind == Kind::number && number.form == json::Number::Form::natural) {
      numbers_.push_back(number.natural);
      continue;
    }
    entry.is_readable = false;
    if (kind == Kind::number) {
      log_.error(
          Scope::container, "st-number",
          [&] {
            return fmt::format("{} contains {}, only whole numbers from 0 to 18446744073709551615 are allowed", what,
                               number_text(number));
          },
          at_tensor(tensor.name), tensor.entry_offset);
    } else {
      log_.error(
          Scope::container, "st-field-type",
          [&] { return fmt::format("{} contains {}, only whole numbers are allowed", what, kind_text(kind)); },
          at_tensor(tensor.name), tensor.entry_offset);
      cursor_.skip();
    }
  }
}

void HeaderParser::read_shape(Tensor& tensor, Entry& entry) {
  entry.has_shape = true;
  read_numbers(tensor, entry, "shape");
  tensor.shape = storage_.keep(std::span<const u64>(numbers_));
}

void HeaderParser::read_offsets(Tensor& tensor, Entry& entry) {
  entry.has_offsets = true;
  const bool was_readable = entry.is_readable;
  read_numbers(tensor, entry, "data_offsets");
  if (cursor_.failed()) return;
  if (numbers_.size() == 2) {
    tensor.begin = numbers_[0];
    tensor.end = numbers_[1];
  } else if (entry.is_readable || !was_readable) {
    entry.is_readable = false;
    log_.error(
        Scope::container, "st-field-type",
        [&] {
          return fmt::format("data_offsets has {} instead of two (begin and end)", counted(numbers_.size(), "element"));
        },
        at_tensor(tensor.name), tensor.entry_offset);
  }
}

}  // namespace

void parse_header(Storage& storage, u64 text_offset, Document& document) {
  HeaderParser(storage, text_offset, document).run();
}

}  // namespace modelutils::safetensors
