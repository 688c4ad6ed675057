// Errors are values: an Error is a finding that stops the requested operation. A finding is something wrong with a
// file, or worth reporting about it; its place has the same wording in every message and is named only here, because
// long names from hostile files are cut here.
#pragma once

#include <tl/expected.hpp>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/types.h"

namespace modelutils {

// Names a place in a file the same way in every message: "tensor 'NAME'", "key 'NAME'", "module 'PATH'". All places are
// named here, because long names from hostile files are cut here and only here.

/// Refers to the name without copying it until the finding is stored. Not escaped: the code that prints it must escape
/// it.
struct Place {
  std::string_view noun;
  std::string_view name;

  /// Returns NOUN 'NAME'. Names over 120 bytes are cut at a character boundary and end in "…".
  std::string text() const;
  operator std::string() const { return text(); }  // for Finding::where
};

inline Place at_tensor(std::string_view name) {
  return {"tensor", name};
}
/// Returns the place of a key in a GGUF file.
inline Place at_key(std::string_view name) {
  return {"key", name};
}
/// Returns the place of a field in config.json.
inline Place at_field(std::string_view name) {
  return {"config.json field", name};
}
/// Returns the place of a module in an MLX model, given its path.
inline Place at_module(std::string_view path) {
  return {"module", path};
}
inline Place at_file(std::string_view name) {
  return {"file", name};
}

// A finding: something wrong with a file, or worth reporting about it. All remarks of the library are findings,
// including the errors that stop an operation.

enum class Severity : u8 { note, warning, error };

std::string_view severity_name(Severity severity);

/// The kind of rule a finding breaks. A dumper fails only on container errors; a converter on container and model
/// errors.
enum class Scope : u8 {
  container,  ///< counts, sizes, types, alignment, dims, offsets, JSON and its fields, the shard index and its files
  model,      ///< keys, tokens, hyper-parameters, config.json against the tensors
  data,       ///< values in the tensor data, padding bytes
};

/// How a finding affects the exit status if it stops the operation.
enum class ErrorKind : u8 {
  usage,     ///< wrong usage: exit 2
  input,     ///< the input cannot be opened, read, recognised or converted, or is broken: exit 3
  no_match,  ///< a pattern matches no name: exit 1
  output,    ///< the output cannot be written: exit 4
  internal,  ///< a bug in modelutils: exit 70
};

/// One remark about a file. `file`, `where` and `message` may contain raw text of a file. The code that prints them
/// must escape them (base/escape.h); no other code does.
struct Finding {
  ErrorKind kind = ErrorKind::input;
  Severity severity = Severity::error;
  Scope scope = Scope::container;
  std::string code = {};           ///< stable, e.g. "gguf-n-dims"; documented in docs/findings.md
  std::string message = {};        ///< describes the fault and the allowed values
  std::string where = {};          ///< the tensor, key or field, as a Place names it; may be empty
  std::optional<u64> offset = {};  ///< absolute byte offset in the file
  /// For an error that stops a tool, the path as the user gave it. In a list of findings: the base name of the file
  /// within a set, or empty for a single file.
  std::string file = {};
  /// True if the user should see this first, e.g. because the file is truncated. It is listed before all other
  /// findings, and its message is printed before offset and place.
  bool leads = false;
};

using Findings = std::vector<Finding>;

/// Returns the first error of scope `container`, or nullptr. Errors that lead come first. Makes a dumper exit with 3.
/// Points into `findings`, so temporaries that own their elements are rejected.
const Finding* first_container_error(std::span<const Finding> findings);
template <typename Owner>
requires(!std::is_lvalue_reference_v<Owner> &&
         !std::ranges::borrowed_range<Owner>) const Finding* first_container_error(Owner&& findings) = delete;

/// Returns the first error of any scope except `data`, or nullptr. Errors that lead come first. Makes a converter
/// refuse.
const Finding* first_error(std::span<const Finding> findings);
template <typename Owner>
requires(!std::is_lvalue_reference_v<Owner> &&
         !std::ranges::borrowed_range<Owner>) const Finding* first_error(Owner&& findings) = delete;

/// Returns the warnings with `leads` set. A converter passes them on if it continues with the file.
Findings leading_warnings(std::span<const Finding> findings);

/// Returns `finding` with a path as its file, for an error that stops a tool. `path` is the model's path as the user
/// gave it. If the finding names a file within a set, that file is taken from the directory `path`, or from the
/// directory that contains the file `path`.
Finding with_path(Finding finding, std::string_view path);

/// Returns `finding` as an entry of a list, whose reader knows the model's path. Its file becomes `name`: the base name
/// of a file within the set or the model's folder, or empty.
Finding without_path(Finding finding, Scope scope = Scope::container, std::string_view name = {});

/// Message and place for people, escaped: "byte 12: tensor 'a': MESSAGE", or for a finding that leads "MESSAGE (byte
/// 12: tensor 'a')".
std::string placed_message(const Finding& finding);

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
