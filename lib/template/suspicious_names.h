// Lists of names: those that escape Jinja's sandbox, and those that programs give to a template.
#pragma once

#include <string>
#include <string_view>

namespace modelutils::jinja {

/// True for letters, digits and underscores.
bool is_ascii_word(char c);

/// True for attributes that lead to Python's frames, code or functions: `__class__`, `gi_frame` …
bool is_unsafe(std::string_view name);
/// Returns the first unsafe name in a path of names separated by dots and brackets; empty if there is none.
std::string_view unsafe_part(std::string_view path);
/// Like unsafe_part(), for text concatenated from literals (template/literals.h), also if it still has to be sliced or
/// formatted.
std::string_view unsafe_piece(std::string_view joined);
/// Returns the unsafe name in a replacement field of str.format; empty if there is none.
std::string_view unsafe_field(std::string_view text);

/// True for functions available in every template, and for names defined inside blocks, loops and macros.
bool is_global(std::string_view name);
bool is_block_name(std::string_view name);
/// True for Python modules that can run programs.
bool is_module(std::string_view name);
/// True for filters that take the name of an attribute, a filter or a test, or a format string.
bool takes_names(std::string_view filter);
/// True for filters and methods with a width argument.
bool takes_width(std::string_view name);

/// Formats a concatenated name for display, with an ellipsis for unknown pieces.
std::string shown(std::string_view name);

}  // namespace modelutils::jinja
