// The first pass over a body: which names it reads and assigns.
#pragma once

#include "template/symbols.h"
#include "template/syntax.h"

namespace modelutils::jinja {

/// Tells symbols what a body does with names. Bodies within it that have symbols of their own are left out.
class SymbolAnalysis {
 public:
  explicit SymbolAnalysis(Symbols& symbols) : symbols_(symbols) {}

  void body(const Body& statements);
  /// nullptr is none.
  void expression(const Expression* node);
  /// Names that whoever enters the body assigns.
  void parameters(const Expression& target);

 private:
  void statement(const Statement& node);
  void condition_parts(const Statement& node);

  Symbols& symbols_;
};

/// Which of these names a body reads anywhere, also in bodies within it (but for blocks).
struct SpecialNames {
  bool caller = false;
  bool kwargs = false;
  bool varargs = false;
};
SpecialNames special_names(const FunctionBody& function);

}  // namespace modelutils::jinja
