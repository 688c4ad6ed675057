// What is wrong with, or worth saying about, a file. Everything that the library has to say is a finding; an error that
// stops what was asked for is one, too (base/error.h).
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

/// Which rule a finding breaks. A dumper fails on container errors only; a converter on every error.
enum class Scope : u8 {
  container,  ///< counts, sizes, types, alignment, dims, offsets, JSON and its fields, the shard index and its files
  model,      ///< keys, tokens, hyper-parameters, config.json against the tensors
  data,       ///< values in the tensor data, padding bytes
};

/// What a finding means for the exit status if it stops what was asked for.
enum class ErrorKind : u8 {
  usage,     ///< wrong usage: exit 2
  input,     ///< the input cannot be opened, read, recognised, is broken or cannot be converted: exit 3
  no_match,  ///< a pattern selects nothing: exit 1
  output,    ///< the output cannot be written: exit 4
  internal,  ///< a bug of ours: exit 70
};

/// One remark about a file. `file`, `where` and `message` may hold raw text of a file: whoever shows them escapes them
/// (base/escape.h); nobody else does.
struct Finding {
  ErrorKind kind = ErrorKind::input;
  Severity severity = Severity::error;
  Scope scope = Scope::container;
  std::string code = {};           ///< stable, e.g. "gguf-n-dims"; documented in docs/findings.md
  std::string message = {};        ///< what was found and what is allowed
  std::string where = {};          ///< the tensor, key or field (base/place.h); may be empty
  std::optional<u64> offset = {};  ///< absolute byte offset in the file
  /// Of what stops a tool the path as the user gave it; in a list of findings the base name of the file of a set that
  /// it is about, empty for a single file.
  std::string file = {};
  /// What a person should know before anything else (the file is cut off, for one): it comes before all other findings,
  /// and its message before offset and place, which are only the detail.
  bool leads = false;
};

using Findings = std::vector<Finding>;

/// The first error of class `container` (one that leads before all others), or nullptr: what makes a dumper exit 3.
/// Points into `findings`, so temporaries that own their elements are refused by the compiler.
const Finding* first_container_error(std::span<const Finding> findings);
template <typename Owner>
requires(!std::is_lvalue_reference_v<Owner> &&
         !std::ranges::borrowed_range<Owner>) const Finding* first_container_error(Owner&& findings) = delete;

/// The same of any scope but data: what makes a converter refuse.
const Finding* first_error(std::span<const Finding> findings);
template <typename Owner>
requires(!std::is_lvalue_reference_v<Owner> &&
         !std::ranges::borrowed_range<Owner>) const Finding* first_error(Owner&& findings) = delete;

/// The warnings that lead: what a converter passes on of a file that it goes on with.
Findings leading_warnings(std::span<const Finding> findings);

/// The same finding as what stops a tool: with a path instead of the name within a set. `path`: the model's, as the
/// user gave it; a file of a set is named with the folder it lies in: the directory `path`, or the one of the file
/// `path`.
Finding with_path(Finding finding, std::string_view path);

/// The same finding as one of a list, whose reader knows the path: with `name`, the base name of a file of the set or
/// of the model's folder, where that says more.
Finding without_path(Finding finding, Scope scope = Scope::container, std::string_view name = {});

/// What is wrong and where, for people: "byte 12: tensor 'a': MESSAGE", of what leads "MESSAGE (byte 12: tensor 'a')".
/// Escaped.
std::string placed_message(const Finding& finding);

}  // namespace modelutils
