// What an expression is, as far as the text of a template alone says: names may be put together of pieces.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "template/syntax.h"
#include "template/text_pieces.h"

namespace modelutils::jinja {

class ConstantValues;

/// What the names of a template are bound to, whatever the order and the place: a name, or "." and a key or an
/// attribute of a namespace.
class Constants {
 public:
  explicit Constants(const Body& body);
  ~Constants();

  /// What the evaluator makes of it (template/constant_values.h).
  Value value(const Expression& expression);
  /// There was too much to evaluate.
  bool is_exhausted() const;
  Texts texts(const Expression* expression);
  /// Nothing if it is no number, or not known.
  std::optional<double> number(const Expression* expression);

  bool is_bound(std::string_view name) const { return bindings_.contains(name); }
  /// `name is defined` is asked somewhere.
  bool is_guarded(std::string_view name) const { return guarded_.contains(name); }
  const FunctionBody* macro(std::string_view name) const;

 private:
  friend class Collector;
  struct Binding {
    std::vector<const Expression*> values;
    std::vector<const Body*> bodies;
    std::optional<Texts> texts = {};
    std::optional<double> number = {};
    bool is_number_known = false;
  };

  /// Fills everything below that is known of `body`.
  void collect(const Body& body);
  Texts made(const Expression& expression);
  Texts of_name(const std::string& name);
  Texts of_body(const Body& body);
  Texts filtered(std::string_view name, const Expression* input, const ArgumentList& arguments);
  Texts joined(const Expression* separator, const Expression* list);
  Texts formatted(const Expression* form, const std::vector<Expression*>& values);
  Texts of_key(const Expression& subscript);

  std::map<std::string, Binding, std::less<>> bindings_;
  std::vector<std::string> order_;
  std::unordered_map<std::string_view, const FunctionBody*> macros_;
  std::unordered_set<std::string_view> guarded_;
  std::unordered_map<const Expression*, Texts> known_;
  std::unique_ptr<ConstantValues> values_;
  u32 depth_ = 0;
};

}  // namespace modelutils::jinja
