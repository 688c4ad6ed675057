#include "json/reader.h"

#include <fmt/core.h>

#include <array>

#include "base/name_index.h"
#include "io/file_kind.h"
#include "io/random_access_file.h"

namespace modelutils::json {

// Builds a document's nodes.
class Parser {
 public:
  Parser(Document& document, std::string text, Numbers numbers)
      : document_(document), cursor_(own(document, std::move(text)), Cursor::deepest, numbers) {}

  /// Sets the document's root. Returns false if the text is not valid JSON.
  bool run();
  SyntaxError error() const { return cursor_.error(); }

 private:
  static std::span<char> own(Document& document, std::string text) {
    document.text_ = std::move(text);
    return document.text_;
  }

  bool read_value(Node& node);
  bool read_number(Node& node);
  bool read_string(Node& node);
  /// Moves to the next value of the innermost container that has one, and leaves those that have none.
  bool find_next();

  Document& document_;
  Cursor cursor_;
  Node* next_ = nullptr;
  std::array<Node*, Cursor::deepest> open_;  // the containers around the cursor
  std::size_t depth_ = 0;
};

bool Parser::run() {
  // At most one node for two bytes (each value needs a separator or a bracket), and one more for each container that is
  // not closed. Unused pages of this memory are never touched; usual texts have at most one node per 16 bytes.
  const std::size_t size = document_.text_.size();
  document_.nodes_.reset(new Node[size / 2 + 1 + Cursor::deepest]);
  next_ = document_.nodes_.get();
  expect_to_fill(next_, size);
  do {
    if (!read_value(*next_++) || !find_next()) return false;
  } while (depth_ > 0);
  document_.root = Element(document_.nodes_.get());
  return cursor_.finish();
}

bool Parser::read_value(Node& node) {
  node.size = 0;
  const Kind kind = cursor_.next();
  switch (kind) {
    case Kind::none: return false;
    case Kind::object:
    case Kind::array:
      node.type = kind == Kind::object ? Node::Type::object : Node::Type::array;
      if (!cursor_.enter()) return false;
      open_[depth_++] = &node;
      return true;
    case Kind::string: return read_string(node);
    case Kind::number: return read_number(node);
    case Kind::boolean: node.type = Node::Type::boolean; return cursor_.boolean(node.truth);
    case Kind::null: node.type = Node::Type::null; return cursor_.null();
  }
  return false;
}

bool Parser::read_number(Node& node) {
  Number number;
  if (!cursor_.number(number)) return false;
  switch (number.form) {
    case Number::Form::natural:
      node.type = Node::Type::natural;
      node.natural = number.natural;
      return true;
    case Number::Form::negative:
      node.type = number.negative == 0 ? Node::Type::natural : Node::Type::negative;  // -0 is 0
      node.negative = number.negative;
      return true;
    case Number::Form::decimal:
      node.type = Node::Type::decimal;
      node.decimal = number.decimal;
      return true;
  }
  return false;
}

void set_string(Node& node, std::string_view text) {
  node.type = Node::Type::string;
  node.text = text.data();
  node.size = text.size();
}

bool Parser::read_string(Node& node) {
  std::string_view text;
  if (!cursor_.string(text)) return false;
  set_string(node, text);
  return true;
}

bool Parser::find_next() {
  while (depth_ > 0) {
    Node& container = *open_[depth_ - 1];
    std::string_view key;
    if (container.type == Node::Type::object ? cursor_.member(key) : cursor_.element()) {
      if (container.type == Node::Type::object) set_string(*next_++, key);
      ++container.size;
      return true;
    }
    container.end = next_;
    --depth_;
    if (cursor_.failed()) return false;
  }
  return true;
}

namespace {

Result<std::unique_ptr<Document>> parse_text(std::string text, std::string name, Numbers numbers) {
  auto document = std::make_unique<Document>();
  document->name = std::move(name);
  const FileKind kind = file_kind(std::string_view(text).substr(0, file_kind_bytes));
  Parser parser(*document, std::move(text), numbers);
  if (parser.run()) return document;
  const std::string what = kind == FileKind::unknown ? fmt::format("is not valid JSON: {}", syntax_text(parser.error()))
                                                     : fmt::format("is not JSON: it is {}", file_kind_text(kind));
  return input_error("json-syntax", what, {}, {}, document->name);
}

}  // namespace

Result<std::unique_ptr<Document>> parse(std::string_view text, std::string name, Numbers numbers) {
  return parse_text(std::string(text), std::move(name), numbers);
}

namespace {

Result<std::unique_ptr<Document>> load_file(const RandomAccessFile& file, u64 max_bytes, Numbers numbers) {
  if (file.file_size() > max_bytes) {
    return input_error("json-too-large",
                       "is " + std::to_string(file.file_size()) + " bytes long, at most " + std::to_string(max_bytes) +
                           " are supported",
                       {}, {}, file.name());
  }
  std::string text;
  resize_to_fill(text, static_cast<std::size_t>(file.file_size()));
  MU_TRY(file.read_exact(0, std::as_writable_bytes(std::span(text))));
  return parse_text(std::move(text), file.name(), numbers);
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
