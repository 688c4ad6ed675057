// Errors are values: an Error is a finding that stops the requested operation (base/finding.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

#include "base/finding.h"
#include "base/place.h"
#include "base/types.h"

namespace modelutils {

using Error = Finding;

template <typename T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

/// Returns an error in the input. `file` may be empty; in_file() can fill it in further up the call chain.
inline tl::unexpected<Error> input_error(std::string code, std::string message, std::string where = {},
                                         std::optional<u64> offset = {}, std::string file = {}) {
  return tl::make_unexpected(Error{.code = std::move(code),
                                   .message = std::move(message),
                                   .where = std::move(where),
                                   .offset = offset,
                                   .file = std::move(file)});
}

/// Returns an error of kind output: the result cannot be written.
inline tl::unexpected<Error> output_error(std::string code, std::string message, std::string file = {}) {
  return tl::make_unexpected(Error{
      .kind = ErrorKind::output, .code = std::move(code), .message = std::move(message), .file = std::move(file)});
}

/// Returns an error for a pattern that matches no name. `where` names the option that the pattern belongs to.
inline tl::unexpected<Error> no_match_error(std::string where, std::string message, std::string file) {
  return tl::make_unexpected(Error{.kind = ErrorKind::no_match,
                                   .code = "glob-no-match",
                                   .message = std::move(message),
                                   .where = std::move(where),
                                   .file = std::move(file)});
}

/// Returns an error of kind usage.
inline tl::unexpected<Error> usage_error(std::string message) {
  return tl::make_unexpected(Error{.kind = ErrorKind::usage, .code = "usage", .message = std::move(message)});
}

/// Returns an error for a bug in this program.
inline tl::unexpected<Error> internal_error(std::string message) {
  return tl::make_unexpected(Error{.kind = ErrorKind::internal, .code = "internal", .message = std::move(message)});
}

/// Returns `error` with `file` filled in if it names no file yet.
inline Error in_file(Error error, std::string_view file) {
  if (error.file.empty()) error.file = file;
  return error;
}

/// Returns the message for errno value `number`, e.g. "No such file or directory".
std::string errno_text(int number);

}  // namespace modelutils

/// Returns the error of a Result-valued expression from the calling function if there is one.
#define MU_CONCAT_(a, b) a##b
#define MU_CONCAT(a, b) MU_CONCAT_(a, b)
#define MU_TRY(expression)                                        \
  do {                                                            \
    if (auto mu_status_ = (expression); !mu_status_) [[unlikely]] \
      return tl::make_unexpected(std::move(mu_status_.error()));  \
  } while (false)
/// MU_ASSIGN(auto x, f()): sets x to the value of f(), or returns its error from the calling function.
#define MU_ASSIGN(declaration, expression)                                          \
  auto MU_CONCAT(mu_result_, __LINE__) = (expression);                              \
  if (!MU_CONCAT(mu_result_, __LINE__)) [[unlikely]]                                \
    return tl::make_unexpected(std::move(MU_CONCAT(mu_result_, __LINE__).error())); \
  declaration = std::move(*MU_CONCAT(mu_result_, __LINE__))
