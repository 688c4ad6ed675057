// Names by which a template would leave its sandbox, and those that programs give it.
#pragma once

#include <string>
#include <string_view>

namespace modelutils::jinja {

/// A letter, a digit or an underscore.
bool is_ascii_word(char c);

/// `__class__`, `gi_frame` …: attributes by which Python's frames, code and functions are reached.
bool is_unsafe(std::string_view name);
/// The unsafe one of the names that dots and brackets separate; empty if there is none.
std::string_view unsafe_part(std::string_view path);
/// The same of a name that is put together of literals (template/literals.h), whatever is done to them.
std::string_view unsafe_piece(std::string_view joined);
/// The unsafe name in a replacement field of str.format; empty if there is none.
std::string_view unsafe_field(std::string_view text);

/// Functions that every program gives a template, and names that blocks, loops and macros have.
bool is_global(std::string_view name);
bool is_block_name(std::string_view name);
/// Modules of Python that programs could be made to run by.
bool is_module(std::string_view name);
/// Filters that take the name of an attribute, of a filter or of a test, or a format.
bool takes_names(std::string_view filter);
/// Filters and methods that take a width.
bool takes_width(std::string_view name);

/// How a name that was put together is shown: what is not known as an ellipsis.
std::string shown(std::string_view name);

}  // namespace modelutils::jinja
