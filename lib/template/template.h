// Chat templates: programs in Jinja's language that turn a conversation into a prompt. The dialect is Jinja2 as
// transformers sets it up (ImmutableSandboxedEnvironment with trim_blocks, lstrip_blocks, loop controls and
// `generation`); docs/templates.md has what is supported.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "template/failure.h"

namespace modelutils::jinja {

struct FunctionBody;

/// Longer templates are refused: the longest published one has some 20 kB.
constexpr std::size_t max_template_bytes = std::size_t{16} << 20;

/// A template that was parsed.
class Template {
 public:
  Template(Template&&) noexcept;
  Template& operator=(Template&&) noexcept;
  ~Template();

  /// As Jinja reads it: with line feeds alone, without one at the end.
  std::string_view source() const;
  const FunctionBody& root() const;

 private:
  friend Result<Template> parse(std::string_view source);
  struct Parts;
  explicit Template(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

/// Parses a template and resolves its names. Time and memory in proportion to its size. Errors, with line and column as
/// the place: "template-syntax" (what Jinja would not compile), "template-limit" (nests deeper than expressions of 200
/// and blocks of 100 levels, or is too long), "template-unsupported".
Result<Template> parse(std::string_view source);

/// A failure as an error: the code by its kind, the line and column as its place; the offset is the byte in `original`,
/// the template as it was before it was normalized.
Error template_error(const Failure& failure, std::string_view original);

}  // namespace modelutils::jinja
