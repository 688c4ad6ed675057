#include "template/template.h"

#include <fmt/core.h>

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "base/text.h"
#include "base/utf8.h"
#include "template/expression_parser.h"
#include "template/scopes.h"
#include "template/tokens.h"

namespace modelutils::jinja {

namespace {

// Maximum nesting of blocks: Python's limit for indentation.
constexpr u32 max_block_depth = 100;

using EndNames = std::initializer_list<std::string_view>;

class StatementParser {
 public:
  explicit StatementParser(TokenStream& tokens) : tokens_(tokens), expressions_(tokens) {}

  // Parses statements up to the end of the template, or to a tag in `ends`, whose name is then the current token.
  Outcome<Body> body(EndNames ends) {
    ends_.push_back(ends);
    Body body;
    while (!tokens_.is(TokenType::end)) {
      const Token& token = tokens_.take();
      if (token.type == TokenType::data) {
        Statement* data = make(StatementKind::data, token.at);
        data->text = token.text;
        body.push_back(data);
      } else if (token.type == TokenType::variable_begin) {
        Statement* print = make(StatementKind::print, token.at);
        MU_ASSIGN(print->value, expressions_.tuple());
        MU_TRY(tokens_.expect(TokenType::variable_end));
        body.push_back(print);
      } else {  // the lexer produces only block tags here
        if (std::any_of(ends.begin(), ends.end(), [&](std::string_view end) { return tokens_.is_name(end); })) {
          ends_.pop_back();
          return body;
        }
        MU_TRY(statement(body));
        MU_TRY(tokens_.expect(TokenType::block_end));
      }
    }
    if (ends.size() != 0) return unexpected_end();
    ends_.pop_back();
    return body;
  }

 private:
  struct Open {
    std::string_view tag;
    std::size_t at;
  };

  Statement* make(StatementKind kind, std::size_t at) {
    auto* statement = tokens_.heap().make<Statement>();
    statement->kind = kind;
    statement->at = at;
    return statement;
  }

  // Lists the tags that would be accepted, in Jinja's words.
  std::string wanted() const {
    std::string text;
    if (ends_.back().size() != 0) {
      text = " Jinja was looking for the following tags: ";
      const char* before = "";
      for (const std::string_view end : ends_.back()) {
        text += fmt::format("{}'{}'", before, end);
        before = " or ";
      }
      text += '.';
    }
    if (!open_.empty()) text += fmt::format(" The innermost block that needs to be closed is '{}'.", open_.back().tag);
    return text;
  }
  // Fails at the unclosed block rather than at the end of the template.
  tl::unexpected<Failure*> unexpected_end() {
    return tokens_.fail("Unexpected end of template." + wanted(),
                        open_.empty() ? tokens_.current().at : open_.back().at);
  }

  // Parses a block's body, from the end of its opening tag to a tag in `ends`. Consumes and returns that tag's name.
  Outcome<std::string_view> block_body(Body& into, EndNames ends) {
    tokens_.skip_sign(":");
    MU_TRY(tokens_.expect(TokenType::block_end));
    MU_ASSIGN(into, body(ends));
    return tokens_.take().text;
  }

  Outcome<void> statement(Body& into) {
    const Token token = tokens_.current();
    if (token.type != TokenType::name) return tokens_.fail("tag name expected", token.at);
    if (open_.size() >= max_block_depth) {
      return tokens_.fail("blocks nest too deeply", token.at, FailureKind::limit);
    }
    const auto parse = find(token.text);
    if (parse == nullptr) {
      return tokens_.fail(fmt::format("Encountered unknown tag '{}'.{}", described(token), wanted()), token.at);
    }
    tokens_.take();
    open_.push_back({token.text, token.at});
    MU_ASSIGN(Statement * made, (this->*parse)(token));
    open_.pop_back();
    if (made != nullptr) into.push_back(made);
    return {};
  }

  using Parse = Outcome<Statement*> (StatementParser::*)(const Token&);
  static Parse find(std::string_view tag) {
    struct Tag {
      std::string_view name;
      Parse parse;
    };
    using Self = StatementParser;
    static constexpr Tag tags[] = {{"for", &Self::loop},
                                   {"if", &Self::condition},
                                   {"set", &Self::set},
                                   {"macro", &Self::macro},
                                   {"call", &Self::call_block},
                                   {"filter", &Self::filter_block},
                                   {"with", &Self::with},
                                   {"print", &Self::print},
                                   {"generation", &Self::generation},
                                   {"break", &Self::jump},
                                   {"continue", &Self::jump},
                                   {"block", &Self::block},
                                   {"autoescape", &Self::autoescape},
                                   {"import", &Self::import_template},
                                   {"from", &Self::from},
                                   {"include", &Self::include},
                                   {"extends", &Self::extends}};
    for (const Tag& one : tags) {
      if (one.name == tag) return one.parse;
    }
    return nullptr;
  }

  Outcome<Statement*> set(const Token& tag) {
    Statement* node = make(StatementKind::set, tag.at);
    MU_ASSIGN(node->target, expressions_.target({}, true));
    if (tokens_.skip_sign("=")) {
      MU_ASSIGN(node->value, expressions_.tuple());
      return node;
    }
    node->kind = StatementKind::set_block;
    MU_ASSIGN(node->value, expressions_.filters(nullptr));
    MU_TRY(block_body(node->body, {"endset"}));
    return node;
  }

  Outcome<Statement*> loop(const Token& tag) {
    Statement* node = make(StatementKind::loop, tag.at);
    MU_ASSIGN(node->target, expressions_.target("in"));
    MU_TRY(tokens_.expect_name("in"));
    MU_ASSIGN(node->value, expressions_.tuple(ExpressionParser::Items::without_choice, "recursive"));
    if (tokens_.skip_name("if")) {
      MU_ASSIGN(node->test, expressions_.expression());
    }
    node->is_recursive = tokens_.skip_name("recursive");
    ++loops_;
    MU_ASSIGN(const std::string_view end, block_body(node->body, {"endfor", "else"}));
    --loops_;
    if (end == "else") MU_TRY(block_body(node->otherwise, {"endfor"}));
    return node;
  }

  Outcome<Statement*> condition(const Token& tag) {
    Statement* first = make(StatementKind::condition, tag.at);
    Statement* node = first;
    while (true) {
      MU_ASSIGN(node->value, expressions_.tuple(ExpressionParser::Items::without_choice));
      MU_ASSIGN(const std::string_view end, block_body(node->body, {"elif", "else", "endif"}));
      if (end == "elif") {
        node = make(StatementKind::condition, tokens_.current().at);
        first->elifs.push_back(node);
        continue;
      }
      if (end == "else") MU_TRY(block_body(first->otherwise, {"endif"}));
      return first;
    }
  }

  Outcome<Statement*> with(const Token& tag) {
    Statement* node = make(StatementKind::with, tag.at);
    while (!tokens_.is(TokenType::block_end)) {
      if (!node->assignments.empty()) MU_TRY(tokens_.expect_sign(","));
      MU_ASSIGN(Expression * target, expressions_.target());
      MU_TRY(tokens_.expect_sign("="));
      MU_ASSIGN(Expression * value, expressions_.expression());
      node->assignments.emplace_back(target, value);
    }
    MU_TRY(block_body(node->body, {"endwith"}));
    return node;
  }

  Outcome<Statement*> print(const Token& tag) {
    Statement* node = make(StatementKind::print, tag.at);
    node->value = tokens_.heap().make<Expression>();
    node->value->kind = ExpressionKind::concat;
    node->value->at = tag.at;
    while (!tokens_.is(TokenType::block_end)) {
      if (!node->value->operands.empty()) MU_TRY(tokens_.expect_sign(","));
      MU_ASSIGN(Expression * value, expressions_.expression());
      node->value->operands.push_back(value);
    }
    return node;
  }

  Outcome<void> signature(FunctionBody& function) {
    MU_TRY(tokens_.expect_sign("("));
    while (!tokens_.is_sign(")")) {
      if (!function.parameters.empty()) MU_TRY(tokens_.expect_sign(","));
      MU_ASSIGN(Expression * parameter, expressions_.name_target());
      if (tokens_.skip_sign("=")) {
        MU_ASSIGN(Expression * value, expressions_.expression());
        function.defaults.push_back(value);
      } else if (!function.defaults.empty()) {
        return tokens_.fail("non-default argument follows default argument", parameter->at);
      }
      function.parameters.push_back(parameter);
    }
    MU_TRY(tokens_.expect_sign(")"));
    return {};
  }

  // Parses a function's body, in which `break` cannot leave a loop outside of it.
  Outcome<void> function_body(FunctionBody& function, EndNames ends) {
    const u32 loops = std::exchange(loops_, 0);
    MU_TRY(block_body(function.body, ends));
    loops_ = loops;
    return {};
  }

  Outcome<Statement*> macro(const Token& tag) {
    Statement* node = make(StatementKind::macro, tag.at);
    node->function = tokens_.heap().make<FunctionBody>();
    MU_ASSIGN(node->target, expressions_.name_target());
    node->function->name = node->target->text;
    MU_TRY(signature(*node->function));
    MU_TRY(function_body(*node->function, {"endmacro"}));
    return node;
  }

  Outcome<Statement*> call_block(const Token& tag) {
    Statement* node = make(StatementKind::call_block, tag.at);
    node->function = tokens_.heap().make<FunctionBody>();
    node->function->name = "caller";
    if (tokens_.is_sign("(")) MU_TRY(signature(*node->function));
    MU_ASSIGN(node->value, expressions_.expression());
    if (node->value->kind != ExpressionKind::call) return tokens_.fail("expected call", tag.at);
    MU_TRY(function_body(*node->function, {"endcall"}));
    return node;
  }

  Outcome<Statement*> generation(const Token& tag) {
    Statement* node = make(StatementKind::generation, tag.at);
    node->function = tokens_.heap().make<FunctionBody>();
    node->function->name = "caller";
    MU_TRY(function_body(*node->function, {"endgeneration"}));
    return node;
  }

  Outcome<Statement*> filter_block(const Token& tag) {
    Statement* node = make(StatementKind::filter_block, tag.at);
    MU_ASSIGN(node->value, expressions_.filters(nullptr, true));
    MU_TRY(block_body(node->body, {"endfilter"}));
    return node;
  }

  Outcome<Statement*> block(const Token& tag) {
    Statement* node = make(StatementKind::block, tag.at);
    node->function = tokens_.heap().make<FunctionBody>();
    MU_ASSIGN(const Token name, tokens_.expect(TokenType::name));
    node->text = name.text;
    if (tokens_.is_name("scoped") || tokens_.is_name("required")) {
      return tokens_.fail(fmt::format("'{}' of a block is not supported", described(tokens_.current())),
                          tokens_.current().at, FailureKind::unsupported);
    }
    if (std::find(blocks_.begin(), blocks_.end(), name.text) != blocks_.end()) {
      return tokens_.fail(fmt::format("block '{}' defined twice", described(name)), tag.at);
    }
    if (blocks_.size() == max_blocks) return tokens_.fail("has too many blocks", tag.at, FailureKind::limit);
    blocks_.push_back(name.text);
    MU_TRY(function_body(*node->function, {"endblock"}));
    tokens_.skip_name(name.text);
    return node;
  }

  Outcome<Statement*> autoescape(const Token& tag) {
    Statement* node = make(StatementKind::autoescape, tag.at);
    MU_ASSIGN(node->value, expressions_.expression());
    MU_TRY(block_body(node->body, {"endautoescape"}));
    return node;
  }

  Outcome<Statement*> jump(const Token& tag) {
    if (loops_ == 0) return tokens_.fail(fmt::format("'{}' outside loop", tag.text), tag.at);
    return make(tag.text == "break" ? StatementKind::leave : StatementKind::next, tag.at);
  }

  Outcome<Statement*> loading(const Token& tag) {
    Statement* node = make(StatementKind::load, tag.at);
    node->text = tag.text;
    MU_ASSIGN(node->value, expressions_.expression());
    return node;
  }
  // Skips "with context" or "without context".
  void import_context() {
    if ((tokens_.is_name("with") || tokens_.is_name("without")) && TokenStream::is_name(tokens_.after(), "context")) {
      tokens_.take();
      tokens_.take();
    }
  }
  Outcome<Statement*> import_template(const Token& tag) {
    MU_ASSIGN(Statement * node, loading(tag));
    MU_TRY(tokens_.expect_name("as"));
    MU_ASSIGN(node->target, expressions_.name_target());
    import_context();
    return node;
  }
  Outcome<Statement*> from(const Token& tag) {
    MU_ASSIGN(Statement * node, loading(tag));
    MU_TRY(tokens_.expect_name("import"));
    do {
      MU_TRY(expressions_.name_target());
      if (tokens_.skip_name("as")) MU_TRY(expressions_.name_target());
    } while (tokens_.skip_sign(","));
    import_context();
    return node;
  }
  Outcome<Statement*> include(const Token& tag) {
    MU_ASSIGN(Statement * node, loading(tag));
    if (tokens_.is_name("ignore") && TokenStream::is_name(tokens_.after(), "missing")) {
      tokens_.take();
      tokens_.take();
    }
    import_context();
    return node;
  }
  Outcome<Statement*> extends(const Token& tag) { return loading(tag); }

  static constexpr std::size_t max_blocks = 100;

  TokenStream& tokens_;
  ExpressionParser expressions_;
  std::vector<EndNames> ends_;  // each points into a caller's arguments
  std::vector<Open> open_;
  std::vector<std::string_view> blocks_;
  u32 loops_ = 0;
};

// Parses a whole template. Nodes and failures are allocated on the stream's heap.
Outcome<Body> parse_statements(TokenStream& tokens) {
  return StatementParser(tokens).body({});
}

}  // namespace

struct Template::Parts {
  std::string source;
  Heap heap;
  FunctionBody root;
};

Template::Template(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Template::Template(Template&&) noexcept = default;
Template& Template::operator=(Template&&) noexcept = default;
Template::~Template() = default;

std::string_view Template::source() const {
  return parts_->source;
}

const FunctionBody& Template::root() const {
  return parts_->root;
}

Error template_error(const Failure& failure, std::string_view original) {
  constexpr std::string_view codes[] = {"template-syntax", "template-error", "template-raised", "template-unsupported",
                                        "template-limit"};
  Error error;
  error.scope = Scope::model;
  error.code = codes[static_cast<std::size_t>(failure.kind)];
  error.message = failure.message;
  if (failure.at) {
    const std::string source = normalized(original);
    error.where = position(source, *failure.at).text();
    error.offset = original_offset(original, *failure.at);
  }
  return error;
}

namespace {

Outcome<void> parse_parts(std::string_view source, FunctionBody& root, Heap& heap) {
  MU_ASSIGN(std::vector<Token> list, tokenize(source, heap));
  TokenStream tokens(std::move(list), heap);
  MU_ASSIGN(root.body, parse_statements(tokens));
  return resolve_names(root, heap);
}

}  // namespace

Result<Template> parse(std::string_view source) {
  if (source.size() > max_template_bytes)
    return input_error("template-limit", "is longer than " + byte_text(max_template_bytes));
  if (!is_utf8(source)) return input_error("template-syntax", "is not UTF-8");
  auto parts = std::make_unique<Template::Parts>();
  parts->source = normalized(source);
  if (const auto parsed = parse_parts(parts->source, parts->root, parts->heap); !parsed) {
    return tl::make_unexpected(template_error(*parsed.error(), source));
  }
  return Template(std::move(parts));
}

}  // namespace modelutils::jinja
