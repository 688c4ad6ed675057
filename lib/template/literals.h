// Names that a template hides: concatenates literals statically, and lists the names that escape Jinja's sandbox and
// those that programs give to a template.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "template/syntax.h"

namespace modelutils::jinja {

/// Separates literals that are not adjacent.
constexpr char unknown_piece = '\1';

/// Knows the values bound to each name, regardless of order and place; nothing is evaluated. Names are "x" for
/// variables, and "." followed by the name for keys and attributes.
class Literals {
 public:
  explicit Literals(const Body& body);

  /// Returns the literals in an expression, concatenated, at most 256 bytes. A name contributes every value bound to
  /// it.
  std::string joined(const Expression* expression);
  /// Returns the value of a numeric expression of literals; nullopt for other expressions.
  std::optional<double> number(const Expression* expression);

  bool is_bound(std::string_view name) const { return bindings_.contains(name); }
  /// True if the template contains `name is defined`.
  bool is_guarded(std::string_view name) const { return guarded_.contains(name); }
  const FunctionBody* macro(std::string_view name) const;

 private:
  friend class Collector;
  struct Binding {
    std::vector<const Expression*> values = {};
    std::vector<const Body*> bodies = {};
    std::optional<std::string> joined = {};
    std::optional<double> number = {};
    bool is_number_known = false;
  };

  void collect(const Body& body);
  void append(std::string& out, const Expression* expression);
  void append_item(std::string& out, const Expression& item);
  void append_arguments(std::string& out, const ArgumentList& arguments);
  void append_body(std::string& out, const Body& body);
  void append_name(std::string& out, const std::string& name);

  std::map<std::string, Binding, std::less<>> bindings_;
  std::vector<std::string> order_;
  std::unordered_map<std::string_view, const FunctionBody*> macros_;
  std::unordered_set<std::string_view> guarded_;
  u32 depth_ = 0;
};

// Lists of names: those that escape Jinja's sandbox, and those that programs give to a template.

/// True for letters, digits and underscores.
bool is_ascii_word(char c);

/// True for attributes that lead to Python's frames, code or functions: `__class__`, `gi_frame` …
bool is_unsafe(std::string_view name);
/// Returns the first unsafe name in a path of names separated by dots and brackets; empty if there is none.
std::string_view unsafe_part(std::string_view path);
/// Like unsafe_part(), for text concatenated from literals, also if it still has to be sliced or
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
