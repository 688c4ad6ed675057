// What the literals of a template may put together: names are hidden by cutting them into pieces.
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

/// Stands between literals that are not next to each other.
constexpr char unknown_piece = '\1';

/// Nothing is evaluated. What is bound to names is known whatever the order and the place; a name is "x", or "." and a
/// key or an attribute.
class Literals {
 public:
  explicit Literals(const Body& body);

  /// The texts in an expression, one after the other, cut off after 256 bytes. Names are followed to all that
  /// they are bound to.
  std::string joined(const Expression* expression);
  /// A number that consists of literals.
  std::optional<double> number(const Expression* expression);

  bool is_bound(std::string_view name) const { return bindings_.contains(name); }
  /// `name is defined` is asked somewhere.
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
