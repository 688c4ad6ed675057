// First pass over a body: collects the names it reads and assigns.
#pragma once

#include "template/symbols.h"
#include "template/syntax.h"

namespace modelutils::jinja {

/// Records the uses of names in a body, except in nested bodies that have symbols of their own.
class SymbolAnalysis {
 public:
  explicit SymbolAnalysis(Symbols& symbols) : symbols_(symbols) {}

  void body(const Body& statements);
  /// Accepts nullptr.
  void expression(const Expression* node);
  /// Declares names that are assigned on entry to the body: parameters and loop variables.
  void parameters(const Expression& target);

 private:
  void statement(const Statement& node);
  void condition_parts(const Statement& node);

  Symbols& symbols_;
};

/// The special macro names read anywhere in a body, including nested bodies but not blocks.
struct SpecialNames {
  bool caller = false;
  bool kwargs = false;
  bool varargs = false;
};
SpecialNames special_names(const FunctionBody& function);

}  // namespace modelutils::jinja
