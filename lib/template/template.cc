#include "template/template.h"

#include "base/utf8.h"
#include "template/parser.h"
#include "template/scopes.h"
#include "template/source.h"

namespace modelutils::jinja {

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
  if (source.size() > max_template_bytes) return input_error("template-limit", "is longer than 16 MiB");
  if (!is_utf8(source)) return input_error("template-syntax", "is not UTF-8");
  auto parts = std::make_unique<Template::Parts>();
  parts->source = normalized(source);
  if (const auto parsed = parse_parts(parts->source, parts->root, parts->heap); !parsed) {
    return tl::make_unexpected(template_error(*parsed.error(), source));
  }
  return Template(std::move(parts));
}

}  // namespace modelutils::jinja
