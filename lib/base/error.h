// Errors and findings are values. An Error stops what was asked for; a Finding is one remark about a file among many.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "base/types.h"

namespace modelutils {

/// What went wrong, as far as the exit status is concerned.
enum class ErrorKind : u8 {
  usage,     ///< wrong usage: exit 2
  input,     ///< the input cannot be opened, read, recognised, is broken or cannot be converted: exit 3
  no_match,  ///< a pattern selects nothing: exit 1
  output,    ///< the output cannot be written: exit 4
  internal,  ///< a bug of ours: exit 70
};

/// One error. `file`, `where` and `message` may hold raw text of a file: whoever shows them escapes them
/// (base/escape.h); nobody else does.
struct Error {
  ErrorKind kind = ErrorKind::input;
  std::string code;           ///< stable, e.g. "gguf-n-dims"; documented in docs/findings.md
  std::string file;           ///< path as the user gave it, may be empty
  std::optional<u64> offset;  ///< absolute byte offset in `file`
  std::string where;          ///< the field or tensor, e.g. "tensor 'blk.0.attn_q.weight'"; may be empty
  std::string message;        ///< what was found and what is allowed
  bool leads = false;         ///< as in Finding
};

template <typename T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

/// An error in the input. `file` may be left empty and be filled in by in_file() further up.
inline tl::unexpected<Error> input_error(std::string code, std::string message, std::string where = {},
                                         std::optional<u64> offset = {}, std::string file = {}) {
  return tl::make_unexpected(
      Error{ErrorKind::input, std::move(code), std::move(file), offset, std::move(where), std::move(message)});
}

inline tl::unexpected<Error> output_error(std::string code, std::string message, std::string file = {}) {
  return tl::make_unexpected(
      Error{ErrorKind::output, std::move(code), std::move(file), std::nullopt, {}, std::move(message)});
}

/// A pattern that selects nothing, of the option `where`.
inline tl::unexpected<Error> no_match_error(std::string where, std::string message, std::string file) {
  return tl::make_unexpected(
      Error{ErrorKind::no_match, "glob-no-match", std::move(file), std::nullopt, std::move(where), std::move(message)});
}

inline tl::unexpected<Error> usage_error(std::string message) {
  return tl::make_unexpected(Error{ErrorKind::usage, "usage", {}, std::nullopt, {}, std::move(message)});
}

inline tl::unexpected<Error> internal_error(std::string message) {
  return tl::make_unexpected(Error{ErrorKind::internal, "internal", {}, std::nullopt, {}, std::move(message)});
}

/// The same error with its file named, where it named none.
inline Error in_file(Error error, std::string_view file) {
  if (error.file.empty()) error.file = file;
  return error;
}

/// Message of errno value `number`, e.g. "No such file or directory".
std::string errno_text(int number);

enum class Severity : u8 { note, warning, error };

/// Which rule a finding breaks. A dumper fails on container errors only; a converter on every error.
enum class Scope : u8 {
  container,  ///< counts, sizes, types, alignment, dims, offsets, JSON and its fields, the shard index and its files
  model,      ///< keys, tokens, hyper-parameters, config.json against the tensors
  data,       ///< values in the tensor data, padding bytes
};

/// One remark about a file. Text members are raw file text like those of Error.
struct Finding {
  Severity severity = Severity::error;
  Scope scope = Scope::container;
  std::string code;
  std::optional<u64> offset;
  std::string where;
  std::string message;
  std::string file;  ///< base name of the file of a set it is about; empty for a single file
  /// What a person should know before anything else (the file is cut off, for one): it comes before all other findings,
  /// and its message before offset and place, which are only the detail.
  bool leads = false;
};

using Findings = std::vector<Finding>;

std::string_view severity_name(Severity severity);

/// The first error of class `container` (one that leads before all others), or nullptr: what makes a dumper exit 3.
const Finding* first_container_error(const Findings& findings);

/// The same of any scope but data: what makes a converter refuse.
const Finding* first_error(const Findings& findings);

/// A finding turned into the error that stops a tool. `path`: the model's, as the user gave it. A file of a set is
/// named with the folder it lies in: the directory `path`, or the one that the file `path` lies in.
Error to_error(const Finding& finding, std::string_view path);

/// An error turned into a finding of severity error.
Finding to_finding(const Error& error, Scope scope = Scope::container);

/// What is wrong and where, for people: "byte 12: tensor 'a': MESSAGE", of what leads "MESSAGE (byte 12: tensor 'a')".
/// Escaped. Error and Finding have the same members.
std::string placed_message(const Error& error);
std::string placed_message(const Finding& finding);

}  // namespace modelutils

/// Leaves the function with the error of a Result-valued expression, if it has one.
#define MU_CONCAT_(a, b) a##b
#define MU_CONCAT(a, b) MU_CONCAT_(a, b)
#define MU_TRY(expression)                                        \
  do {                                                            \
    if (auto mu_status_ = (expression); !mu_status_) [[unlikely]] \
      return tl::make_unexpected(std::move(mu_status_.error()));  \
  } while (false)
/// MU_ASSIGN(auto x, f()): x = *f(), or leaves with its error.
#define MU_ASSIGN(declaration, expression)                                          \
  auto MU_CONCAT(mu_result_, __LINE__) = (expression);                              \
  if (!MU_CONCAT(mu_result_, __LINE__)) [[unlikely]]                                \
    return tl::make_unexpected(std::move(MU_CONCAT(mu_result_, __LINE__).error())); \
  declaration = std::move(*MU_CONCAT(mu_result_, __LINE__))
