// Chat templates: Jinja programs that turn a conversation into a prompt. The dialect is Jinja2 as transformers
// configures it (ImmutableSandboxedEnvironment with trim_blocks, lstrip_blocks, loop controls and `generation`). See
// docs/templates.md for the supported features.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "template/value.h"

namespace modelutils::jinja {

struct FunctionBody;

/// Longer templates are refused. The longest published one has about 20 kB.
constexpr std::size_t max_template_bytes = std::size_t{16} << 20;

/// A parsed template.
class Template {
 public:
  Template(Template&&) noexcept;
  Template& operator=(Template&&) noexcept;
  ~Template();

  /// Returns the normalized source: only line feeds, and none at the end.
  std::string_view source() const;
  const FunctionBody& root() const;

 private:
  friend Result<Template> parse(std::string_view source);
  struct Parts;
  explicit Template(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

/// Parses a template and resolves its names. Time and memory are proportional to its size. Errors have line and column
/// as their place: "template-syntax" (Jinja would not compile it), "template-limit" (too long, or nested deeper than
/// 200 for expressions or 100 for blocks), "template-unsupported".
Result<Template> parse(std::string_view source);

/// Converts a failure to an error: the code by its kind, line and column as the place. The offset refers to `original`,
/// the source before normalization.
Error template_error(const Failure& failure, std::string_view original);

}  // namespace modelutils::jinja
