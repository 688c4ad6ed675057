#include "json/reader.h"

#include <fmt/core.h>
#include <simdjson.h>

#include <array>
#include <bit>
#include <charconv>
#include <new>

#include "base/checked_math.h"
#include "io/file_kind.h"
#include "io/random_access_file.h"
#include "json/syntax_text.h"

namespace modelutils::json {

struct Document::Parser {
  simdjson::dom::parser parser;
};

Document::Document() : parser_(std::make_unique<Parser>()) {}
Document::~Document() = default;

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// True if the integer `digits` (an optional minus, then digits) does not fit into 64 bits.
bool is_big_integer(std::string_view digits) {
  const char* end = digits.data() + digits.size();
  if (digits.front() == '-') {
    i64 value = 0;
    return std::from_chars(digits.data(), end, value).ec == std::errc::result_out_of_range;
  }
  u64 value = 0;
  return std::from_chars(digits.data(), end, value).ec == std::errc::result_out_of_range;
}

bool is_letter(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

struct NonFinite {
  std::string_view text, standard;
};
constexpr std::array<NonFinite, 3> non_finite_numbers = {{
    {"Infinity", "1.7976931348623157e308"},
    {"-Infinity", "-1.7976931348623157e308"},
    {"NaN", "null"},
}};

// Returns the entry of non_finite_numbers that stands at `at` as a whole word, or nullptr.
const NonFinite* non_finite_at(std::string_view text, std::size_t at) {
  const auto is_part_of_word = [&](std::size_t i) {
    return i < text.size() && (is_digit(text[i]) || is_letter(text[i]) || text[i] == '.' || text[i] == '+');
  };
  for (const NonFinite& number : non_finite_numbers) {
    if (!text.substr(at).starts_with(number.text) || is_part_of_word(at + number.text.size())) continue;
    return at > 0 && (is_part_of_word(at - 1) || text[at - 1] == '-') ? nullptr : &number;
  }
  return nullptr;
}

// Appends ".0" to every integer beyond 64 bits. simdjson refuses those, but they are valid JSON, and nearly every
// tokenizer_config.json has one (transformers writes "no limit" as 1000000000000000019884624838656). With
// Numbers::python, also replaces non-finite numbers by standard ones.
std::string with_standard_numbers(std::string_view text, Numbers numbers) {
  std::string out;
  out.reserve(text.size() + 64);
  bool in_string = false;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (!in_string && numbers == Numbers::python && (c == 'I' || c == '-' || c == 'N')) {
      if (const NonFinite* number = non_finite_at(text, i)) {
        out += number->standard;
        i += number->text.size();
        continue;
      }
    }
    if (in_string || !(is_digit(c) || c == '-')) {
      out.push_back(c);
      ++i;
      if (in_string && c == '\\' && i < text.size()) out.push_back(text[i++]);
      if (c == '"') in_string = !in_string;
      continue;
    }
    const std::size_t begin = i++;
    while (i < text.size() && is_digit(text[i])) ++i;
    const std::string_view digits = text.substr(begin, i - begin);
    const bool is_integer = i == text.size() || (text[i] != '.' && text[i] != 'e' && text[i] != 'E');
    out += digits;
    if (is_integer) {
      if (is_big_integer(digits)) out += ".0";
      continue;
    }
    for (; i < text.size() && (is_digit(text[i]) || std::string_view(".eE+-").find(text[i]) != std::string_view::npos);
         ++i) {
      out.push_back(text[i]);
    }
  }
  return out;
}

}  // namespace

std::string_view syntax_text(int simdjson_error) {
  switch (simdjson_error) {
    case simdjson::TAPE_ERROR: return "a comma, colon or bracket is missing or misplaced";
    case simdjson::INCOMPLETE_ARRAY_OR_OBJECT:
      return "it does not end with '}': it is incomplete, or other text follows the object";
    case simdjson::UNCLOSED_STRING: return "a string is not closed";
    case simdjson::UNESCAPED_CHARS: return "a string contains an unescaped control character";
    case simdjson::STRING_ERROR: return "a string contains an invalid escape";
    case simdjson::NUMBER_ERROR: return "a number is malformed or too large";
    case simdjson::UTF8_ERROR: return "it is not UTF-8";
    case simdjson::EMPTY: return "it contains only white space";
    case simdjson::DEPTH_ERROR: return "it is nested too deeply";
    case simdjson::INCORRECT_TYPE:
    case simdjson::T_ATOM_ERROR:
    case simdjson::F_ATOM_ERROR:
    case simdjson::N_ATOM_ERROR: return "a word other than true, false and null";
    default: return simdjson::error_message(static_cast<simdjson::error_code>(simdjson_error));
  }
}

Result<std::unique_ptr<Document>> parse(std::string_view text, std::string name, Numbers numbers) {
  auto document = std::make_unique<Document>();
  document->name = std::move(name);
  simdjson::dom::parser& parser = document->parser_->parser;
  simdjson::dom::element root;
  const simdjson::padded_string padded(text);
  if (padded.size() != text.size()) throw std::bad_alloc();
  simdjson::error_code error = parser.parse(padded).get(root);
  if (error != simdjson::SUCCESS) {
    // The error code of a refused number depends on simdjson's version. Compare sizes instead: every replacement makes
    // the text longer.
    const std::string standard = with_standard_numbers(text, numbers);
    if (standard.size() != text.size()) error = parser.parse(simdjson::padded_string(standard)).get(root);
  }
  if (error == simdjson::MEMALLOC) throw std::bad_alloc();
  const bool has_mark = text.starts_with("\xef\xbb\xbf");  // simdjson 3.0 refuses a byte order mark, 3.12 skips it
  if (error != simdjson::SUCCESS || has_mark) {
    const FileKind kind = file_kind(text.substr(0, file_kind_bytes));
    const std::string_view why =
        has_mark ? "it starts with a byte order mark, which is not allowed" : syntax_text(error);
    const std::string what = kind == FileKind::unknown ? fmt::format("is not valid JSON: {}", why)
                                                       : fmt::format("is not JSON: it is {}", file_kind_text(kind));
    return input_error("json-syntax", what, {}, {}, document->name);
  }
  document->root = Element(std::bit_cast<Place>(root));
  return document;
}

namespace {

Result<std::unique_ptr<Document>> load_file(const RandomAccessFile& file, u64 max_bytes, Numbers numbers) {
  if (file.file_size() > max_bytes) {
    return input_error("json-too-large",
                       "is " + std::to_string(file.file_size()) + " bytes long, at most " + std::to_string(max_bytes) +
                           " are supported",
                       {}, {}, file.name());
  }
  std::string text(static_cast<std::size_t>(file.file_size()), '\0');
  MU_TRY(file.read_exact(0, std::as_writable_bytes(std::span(text))));
  return parse(text, file.name(), numbers);
}

}  // namespace

Result<std::unique_ptr<Document>> load(const std::string& path, u64 max_bytes) {
  MU_ASSIGN(const auto file, RandomAccessFile::open(path));
  return load_file(*file, max_bytes, Numbers::standard);
}

Result<std::shared_ptr<Document>> load_if_present(const ModelFolder& folder, std::string_view name, u64 max_bytes,
                                                  Numbers numbers) {
  auto& documents = folder.memory->documents;
  if (const auto known = documents.find(name); known != documents.end()) {
    return std::static_pointer_cast<Document>(known->second);
  }
  MU_ASSIGN(const auto file, open_side_file(folder, name));
  if (file == nullptr) return nullptr;
  MU_ASSIGN(std::shared_ptr<Document> document, load_file(*file, max_bytes, numbers));
  documents.emplace(name, document);
  return document;
}

std::optional<Element> member(Element value, std::string_view key) {
  Object object;
  if (!value.get(object)) return std::nullopt;
  const std::optional<Element> found = object.find(key);
  return found && !found->is_null() ? found : std::nullopt;
}

namespace {

template <typename T>
std::optional<T> typed_member(Element value, std::string_view key) {
  const std::optional<Element> found = member(value, key);
  T typed{};
  if (!found || !found->get(typed)) return std::nullopt;
  return typed;
}

}  // namespace

std::optional<std::string_view> string_member(Element value, std::string_view key) {
  return typed_member<std::string_view>(value, key);
}
std::optional<u64> u64_member(Element value, std::string_view key) {
  return typed_member<u64>(value, key);
}
std::optional<i64> i64_member(Element value, std::string_view key) {
  return typed_member<i64>(value, key);
}
std::optional<double> number_member(Element value, std::string_view key) {
  return typed_member<double>(value, key);
}
std::optional<bool> bool_member(Element value, std::string_view key) {
  return typed_member<bool>(value, key);
}
std::optional<Array> array_member(Element value, std::string_view key) {
  return typed_member<Array>(value, key);
}
std::optional<Object> object_member(Element value, std::string_view key) {
  return typed_member<Object>(value, key);
}

}  // namespace modelutils::json
