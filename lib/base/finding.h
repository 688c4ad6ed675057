// A finding: something wrong with a file, or worth reporting about it. All of the library's remarks are findings; an
// error that stops the requested operation is one, too (base/error.h).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/types.h"

namespace modelutils {

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
  std::string where = {};          ///< the tensor, key or field (base/place.h); may be empty
  std::optional<u64> offset = {};  ///< absolute byte offset in the file
  /// For an error that stops a tool, the path as the user gave it. In a list of findings, the base name of the file
  /// within a set; empty for a single file.
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

}  // namespace modelutils
