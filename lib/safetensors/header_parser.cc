#include "safetensors/header_parser.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/counted.h"
#include "base/large_pages.h"
#include "base/name_index.h"
#include "json/syntax_text.h"
#include "safetensors/on_demand.h"

namespace modelutils::safetensors {

namespace {

using on_demand::error_code;
using on_demand::json_type;
using on_demand::SUCCESS;
using on_demand::Text;
using simdjson::ondemand::field;
using simdjson::ondemand::object;
using simdjson::ondemand::value;

// Entries of real models take about 100 bytes. Used to reserve memory.
constexpr std::size_t usual_entry = 96;

// Number of containers around a member of the header and around a member of a tensor entry (for on_demand::walk).
constexpr std::size_t header_depth = 1;
constexpr std::size_t entry_depth = 2;
constexpr std::size_t array_depth = 3;

std::string_view type_text(json_type type) {
  switch (type) {
    case json_type::array: return "an array";
    case json_type::object: return "an object";
    case json_type::number: return "a number";
    case json_type::string: return "a string";
    case json_type::boolean: return "true or false";
    default: return "null";
  }
}

/// Returns a number's text as in the file, for messages.
std::string number_text(value& number) {
  std::string_view token = number.raw_json_token();
  token = token.substr(0, token.find_last_not_of(" \t\r\n") + 1);
  constexpr std::size_t longest = 40;
  return token.size() <= longest ? std::string(token) : std::string(token.substr(0, longest)) + "…";
}

class HeaderParser {
 public:
  HeaderParser(Storage& storage, u64 text_offset, Document& document)
      : storage_(storage), text_offset_(text_offset), document_(document), log_(document.findings) {}

  void run();

 private:
  /// The three required fields of a tensor entry.
  struct Entry {
    bool has_dtype = false, has_shape = false, has_offsets = false;  // the member is present
    bool is_readable = true;                                         // every member present had the right type
    NameIndex others;
  };

  bool check_edges();
  error_code read_object(object header);
  error_code read_metadata(value metadata, u64 offset);
  error_code read_entry(std::string_view name, u64 offset, value entry);
  error_code read_member(Tensor& tensor, Entry& entry, field& member);
  error_code read_dtype(Tensor& tensor, Entry& entry, value dtype);
  error_code read_shape(Tensor& tensor, Entry& entry, value shape);
  error_code read_offsets(Tensor& tensor, Entry& entry, value offsets);
  /// Reads an array of integers into numbers_. `what` is the field's name.
  error_code read_numbers(const Tensor& tensor, Entry& entry, value array, std::string_view what);

  /// Records a name. Names are checked a few entries later, in groups, after their hash slots have been prefetched.
  void count_name(std::string_view name, u64 offset);
  void check_names();
  /// Reads a member's name. Sets `usable` to false and adds a finding if its escapes do not form valid text.
  error_code read_name(field& member, std::string_view owner, std::string_view& name, bool& usable);
  void stopped(error_code error, u64 offset);
  u64 offset_of(const char* place) const {
    return text_offset_ + static_cast<u64>(std::clamp<std::ptrdiff_t>(place - storage_.text.bytes.get(), 0,
                                                                      static_cast<std::ptrdiff_t>(storage_.text.size)));
  }
  u64 offset_of_key(field& member) const { return offset_of(member.key().raw() - 1); }

  struct PendingName {
    std::string_view name;
    u32 hash = 0;
    u64 offset = 0;
  };

  Storage& storage_;
  const u64 text_offset_;
  Document& document_;
  FindingLog& log_;
  simdjson::ondemand::parser parser_;
  simdjson::ondemand::document json_;
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
  const std::string_view text = storage_.text.view();
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const auto refuse = [&](std::string_view code, std::size_t place, std::string message) {
    log_.error(Scope::container, code, std::move(message), {}, text_offset_ + place);
    return false;
  };
  if (text.starts_with("\xef\xbb\xbf")) {
    return refuse("st-header-encoding", 0, "the header starts with a byte order mark, which is not allowed");
  }
  if (first == text.npos) return refuse("st-header-json", 0, "the header contains only white space, not a JSON object");
  if (text[first] != '{') {
    return refuse("st-header-object", first, "the header is not a JSON object: it must start with '{'");
  }
  if (first != 0) {
    log_.warning(Scope::container, "st-header-space",
                 "there is white space before the '{', which must be the header's first byte", {}, text_offset_);
  }
  const std::size_t last = text.find_last_not_of(" \t\r\n");
  if (text.find_first_of("\t\r\n", last + 1) != text.npos) {
    log_.warning(Scope::container, "st-header-space",
                 "a tab, CR or LF follows the JSON object; only spaces are allowed there", {}, text_offset_ + last + 1);
  }
  return true;
}

void HeaderParser::run() {
  if (check_edges()) {
    error_code error = parser_.iterate(storage_.text.padded()).get(json_);
    if (error != SUCCESS) {
      // simdjson's first pass does not report where it failed. For errors other than these two, the text ends too
      // early.
      const std::string_view text = storage_.text.view();
      std::size_t place = text.size();
      if (error == simdjson::UTF8_ERROR) place = on_demand::first_invalid_utf8(text);
      if (error == simdjson::UNESCAPED_CHARS) place = on_demand::first_raw_control(text);
      stopped(error, text_offset_ + place);
    } else {
      object header;
      error = json_.get_object().get(header);
      if (error == SUCCESS) error = read_object(header);
      check_names();
      if (error != SUCCESS) {
        const char* place = nullptr;
        const bool known = json_.current_location().get(place) == SUCCESS;
        stopped(error, known ? offset_of(place) : text_offset_ + storage_.text.size);
      } else {
        document_.complete = true;
        if (is_numbered_) document_.names = std::move(names_);
      }
    }
  }
}

void HeaderParser::stopped(error_code error, u64 offset) {
  if (error == simdjson::UTF8_ERROR) {
    log_.error(Scope::container, "st-header-encoding", "the header is not valid UTF-8", {}, offset);
  } else if (error == simdjson::DEPTH_ERROR) {
    log_.error(Scope::container, "st-header-depth",
               fmt::format("the JSON is nested more than {} levels deep", on_demand::max_depth), {}, offset);
  } else {
    log_.error(Scope::container, "st-header-json",
               fmt::format("the header is not valid JSON: {}", json::syntax_text(error)), {}, offset);
  }
}

error_code HeaderParser::read_object(object header) {
  const std::size_t most = storage_.text.size / usual_entry + 1;
  reserve_to_fill(document_.tensors, most);
  names_.reserve(most);
  for (auto element : header) {
    field member;
    if (const error_code error = std::move(element).get(member)) return error;
    const u64 offset = offset_of_key(member);
    std::string_view name;
    bool usable = false;
    if (const error_code error = read_name(member, {}, name, usable)) return error;
    error_code error = SUCCESS;
    if (!usable) {
      error = on_demand::walk(member.value(), header_depth);
    } else if (name == "__metadata__") {
      error = read_metadata(member.value(), offset);
    } else {
      count_name(name, offset);
      error = read_entry(name, offset, member.value());
    }
    if (error != SUCCESS) return error;
  }
  const char* rest = nullptr;
  if (json_.current_location().get(rest) == SUCCESS) {
    log_.error(Scope::container, "st-header-trailing", "text follows the JSON object; only spaces are allowed there",
               {}, offset_of(rest));
  }
  return SUCCESS;
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

error_code HeaderParser::read_name(field& member, std::string_view owner, std::string_view& name, bool& usable) {
  const u64 offset = offset_of_key(member);
  Text text;
  const error_code error = on_demand::read_key(member, text);
  usable = error == SUCCESS;
  if (usable) {
    name = storage_.keep(text);
    return SUCCESS;
  }
  if (error != simdjson::STRING_ERROR) return error;
  log_.error(Scope::container, "st-text", "a name contains an invalid escape (a lone surrogate?)", owner, offset);
  return SUCCESS;
}

error_code HeaderParser::read_metadata(value metadata, u64 offset) {
  constexpr std::string_view owner = "__metadata__";
  if (document_.has_metadata) {
    log_.error(Scope::container, "st-duplicate-member", "the member appears twice in the header", owner, offset);
  }
  document_.has_metadata = true;
  json_type type{};
  if (const error_code error = metadata.type().get(type)) return error;
  if (type != json_type::object) {
    const Severity severity = type == json_type::null ? Severity::warning : Severity::error;
    log_.add(
        severity, Scope::container, "st-metadata-type",
        [&] { return fmt::format("is {}, not an object of strings", type_text(type)); }, owner, offset);
    return on_demand::walk(metadata, header_depth);
  }
  object members;
  if (const error_code error = metadata.get_object().get(members)) return error;
  NameIndex keys;
  for (auto element : members) {
    field member;
    if (const error_code error = std::move(element).get(member)) return error;
    MetadataEntry entry;
    entry.offset = offset_of_key(member);
    bool usable = false;
    if (const error_code error = read_name(member, owner, entry.key, usable)) return error;
    value held = member.value();
    Text text;
    const error_code error = on_demand::read_string(held, text);
    if (error == simdjson::INCORRECT_TYPE) {
      json_type held_type{};
      if (const error_code wrong = held.type().get(held_type)) return wrong;
      log_.error(
          Scope::container, "st-metadata-type",
          [&] { return fmt::format("the value of '{}' is {}, not a string", entry.key, type_text(held_type)); }, owner,
          entry.offset);
      if (const error_code wrong = on_demand::walk(held, entry_depth)) return wrong;
      continue;
    }
    if (error == simdjson::STRING_ERROR) {
      log_.error(
          Scope::container, "st-text",
          [&] { return fmt::format("the value of '{}' contains an invalid escape", entry.key); }, owner, entry.offset);
      continue;
    }
    if (error != SUCCESS) return error;
    if (!usable) continue;
    if (!keys.insert(entry.key).is_new) {
      log_.error(
          Scope::container, "st-duplicate-member", [&] { return fmt::format("'{}' appears twice", entry.key); }, owner,
          entry.offset);
    }
    entry.value = storage_.keep(text);
    document_.metadata.push_back(entry);
  }
  return SUCCESS;
}

error_code HeaderParser::read_entry(std::string_view name, u64 offset, value held) {
  Tensor tensor;
  tensor.name = name;
  tensor.entry_offset = offset;
  json_type type{};
  if (const error_code error = held.type().get(type)) return error;
  if (type != json_type::object) {
    is_numbered_ = false;
    log_.error(
        Scope::container, "st-entry-type",
        [&] { return fmt::format("the entry is {}, not an object", type_text(type)); }, at_tensor(tensor.name),
        tensor.entry_offset);
    return on_demand::walk(held, header_depth);
  }
  object members;
  if (const error_code error = held.get_object().get(members)) return error;
  Entry entry;
  for (auto element : members) {
    field member;
    if (const error_code error = std::move(element).get(member)) return error;
    if (const error_code error = read_member(tensor, entry, member)) return error;
  }
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
  return SUCCESS;
}

error_code HeaderParser::read_member(Tensor& tensor, Entry& entry, field& member) {
  const u64 offset = offset_of_key(member);
  std::string_view key;
  bool usable = false;
  if (const error_code error = read_name(member, tensor.name, key, usable)) return error;
  const auto duplicate = [&] {
    log_.error(
        Scope::container, "st-duplicate-member", [&] { return fmt::format("'{}' appears twice", key); },
        at_tensor(tensor.name), offset);
    return on_demand::walk(member.value(), entry_depth);
  };
  if (!usable) return on_demand::walk(member.value(), entry_depth);
  if (key == "dtype") return entry.has_dtype ? duplicate() : read_dtype(tensor, entry, member.value());
  if (key == "shape") return entry.has_shape ? duplicate() : read_shape(tensor, entry, member.value());
  if (key == "data_offsets") return entry.has_offsets ? duplicate() : read_offsets(tensor, entry, member.value());
  if (!entry.others.insert(key).is_new) return duplicate();
  log_.warning(
      Scope::container, "st-unknown-member",
      [&] { return fmt::format("'{}' is not a member that the format defines", key); }, at_tensor(tensor.name), offset);
  return on_demand::walk(member.value(), entry_depth);
}

error_code HeaderParser::read_dtype(Tensor& tensor, Entry& entry, value dtype) {
  entry.has_dtype = true;
  Text text;
  const error_code error = on_demand::read_string(dtype, text);
  if (error == SUCCESS) {
    tensor.dtype = storage_.keep(text);
    if (tensor.dtype != last_dtype_) {
      last_dtype_ = tensor.dtype;
      last_type_ = type_from_safetensors(tensor.dtype);
    }
    tensor.type = last_type_;
    return SUCCESS;
  }
  entry.is_readable = false;
  if (error == simdjson::STRING_ERROR) {
    log_.error(Scope::container, "st-text", "dtype contains an invalid escape", at_tensor(tensor.name),
               tensor.entry_offset);
    return SUCCESS;
  }
  if (error != simdjson::INCORRECT_TYPE) return error;
  json_type type{};
  if (const error_code wrong = dtype.type().get(type)) return wrong;
  log_.error(
      Scope::container, "st-field-type", [&] { return fmt::format("dtype is {}, not a string", type_text(type)); },
      at_tensor(tensor.name), tensor.entry_offset);
  return on_demand::walk(dtype, entry_depth);
}

error_code HeaderParser::read_numbers(const Tensor& tensor, Entry& entry, value array, std::string_view what) {
  numbers_.clear();
  json_type type{};
  if (const error_code error = array.type().get(type)) return error;
  if (type != json_type::array) {
    entry.is_readable = false;
    log_.error(
        Scope::container, "st-field-type",
        [&] { return fmt::format("{} is {}, not an array of whole numbers", what, type_text(type)); },
        at_tensor(tensor.name), tensor.entry_offset);
    return on_demand::walk(array, entry_depth);
  }
  simdjson::ondemand::array elements;
  if (const error_code error = array.get_array().get(elements)) return error;
  for (auto item : elements) {
    value number;
    if (const error_code error = std::move(item).get(number)) return error;
    std::uint64_t whole = 0;
    if (number.get_uint64().get(whole) == SUCCESS) {
      numbers_.push_back(whole);
      continue;
    }
    entry.is_readable = false;
    if (const error_code error = number.type().get(type)) return error;
    if (type == json_type::number) {
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
          [&] { return fmt::format("{} contains {}, only whole numbers are allowed", what, type_text(type)); },
          at_tensor(tensor.name), tensor.entry_offset);
    }
    if (const error_code error = on_demand::walk(number, array_depth)) return error;
  }
  return SUCCESS;
}

error_code HeaderParser::read_shape(Tensor& tensor, Entry& entry, value shape) {
  entry.has_shape = true;
  if (const error_code error = read_numbers(tensor, entry, shape, "shape")) return error;
  tensor.shape = storage_.keep(std::span<const u64>(numbers_));
  return SUCCESS;
}

error_code HeaderParser::read_offsets(Tensor& tensor, Entry& entry, value offsets) {
  entry.has_offsets = true;
  const bool was_readable = entry.is_readable;
  if (const error_code error = read_numbers(tensor, entry, offsets, "data_offsets")) return error;
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
  return SUCCESS;
}

}  // namespace

void parse_header(Storage& storage, u64 text_offset, Document& document) {
  HeaderParser(storage, text_offset, document).run();
}

}  // namespace modelutils::safetensors
