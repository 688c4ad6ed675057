// The reason why a template could not be parsed or rendered.
#pragma once

#include <optional>
#include <string>

#include "base/error.h"

#include "template/value.h"

namespace modelutils::jinja {

enum class FailureKind : u8 {
  syntax,       ///< Jinja would not compile it
  runtime,      ///< Jinja, or Python below it, would raise an exception
  raised,       ///< the template's own raise_exception()
  unsupported,  ///< Jinja would render it, this engine cannot
  limit,        ///< more steps, memory, output or depth than Limits allow
};

/// Allocated on the Heap of the rendering, so that each step of the engine returns only one pointer.
struct Failure : Object {
  Failure(FailureKind what, std::string text) : kind(what), message(std::move(text)) {}
  FailureKind kind;
  std::string message;
  std::optional<std::size_t> at = {};  ///< byte in the source (template/source.h) where the innermost failing
                                       ///< expression starts
};

/// A value, or a pointer to a Failure on the Heap.
template <typename T>
using Outcome = tl::expected<T, Failure*>;

}  // namespace modelutils::jinja
