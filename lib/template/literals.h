// Concatenates literals statically, to find names that a template hides by splitting them into pieces.
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
  /// Returns the value of a numeric expression of literals; nullopt if it is not one.
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

}  // namespace modelutils::jinja
