// The symbols of one body of a template (template/scopes.h), and the first pass over it, which collects the names it
// reads and assigns.
#pragma once

#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "template/syntax.h"

namespace modelutils::jinja {

/// A template function during name resolution. Bodies at the same level share a variable per name, as in the code that
/// Jinja generates.
struct FunctionScope {
  FunctionScope* parent = nullptr;
  FunctionBody* body = nullptr;
  std::map<std::pair<u32, std::string_view>, u32> slots = {};
};

class Symbols {
 public:
  /// For a body within `parent`. nullptr for the whole template, or for a block, which does not see its surroundings.
  Symbols(Symbols* parent, FunctionScope& function)
      : parent_(parent), function_(function), level_(parent == nullptr ? 0 : parent->level_ + 1) {}

  /// Record that a name is read, assigned, or set on entry; call them in source order.
  void load(std::string_view name);
  void store(std::string_view name);
  u32 declare_parameter(std::string_view name);

  /// Bracket the branches of a condition (body, elifs, else). A name assigned in only some branches keeps its outer
  /// value in the others.
  void begin_branches();
  void begin_branch();
  void end_branch();
  void end_branches();

  /// Returns a name's variable as seen from `function`. The name must have been loaded or stored before.
  Slot find(std::string_view name, const FunctionScope& function) const;
  bool knows(std::string_view name) const { return find_function(name).second != nullptr; }

  FrameLoads loads() const;
  FunctionScope& function() { return function_; }

 private:
  struct State {
    bool is_known = false;
    bool is_stored = false;
    SlotLoad::From from = SlotLoad::From::nothing;
    bool is_parameter = false;
  };
  using Changes = std::vector<std::pair<std::string_view, State>>;
  struct Branches {
    std::size_t count = 0;
    Changes changes;  // of all branches, in order
  };

  void change(std::string_view name, const State& state);
  // Returns the symbols that define `name`, and its state there.
  std::pair<const Symbols*, const State*> find_function(std::string_view name) const;

  Symbols* parent_;
  FunctionScope& function_;
  u32 level_;
  std::unordered_map<std::string_view, State> states_;
  Changes undo_;                            // earlier values of states_, to restore after a branch
  std::vector<std::size_t> branch_begins_;  // indices into undo_
  std::vector<Branches> branches_;
};

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
