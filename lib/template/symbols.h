// The variables of one body of a template (template/scopes.h).
#pragma once

#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "template/syntax.h"

namespace modelutils::jinja {

/// A function of the template while its names are resolved. Bodies at the same level share the variable of a name, as
/// they do in the code that Jinja makes.
struct FunctionScope {
  FunctionScope* parent = nullptr;
  FunctionBody* body = nullptr;
  std::map<std::pair<u32, std::string_view>, u32> slots = {};
};

class Symbols {
 public:
  /// Of a body within `parent` (nullptr: of a whole template, or of a block, which sees nothing around it).
  Symbols(Symbols* parent, FunctionScope& function)
      : parent_(parent), function_(function), level_(parent == nullptr ? 0 : parent->level_ + 1) {}

  /// A name is read, is assigned, is given from outside; in the order of the text.
  void load(std::string_view name);
  void store(std::string_view name);
  u32 declare_parameter(std::string_view name);

  /// The branches of a condition: body, elifs and else, each of them begun. What only some of them assign keeps the
  /// value from outside where it was not assigned.
  void begin_branches();
  void begin_branch();
  void end_branch();
  void end_branches();

  /// The variable of a name, seen from `function`. Every name was loaded or stored before.
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
  // The body that knows a name, and its state there.
  std::pair<const Symbols*, const State*> find_function(std::string_view name) const;

  Symbols* parent_;
  FunctionScope& function_;
  u32 level_;
  std::unordered_map<std::string_view, State> states_;
  Changes undo_;                            // what states_ was before
  std::vector<std::size_t> branch_begins_;  // in undo_
  std::vector<Branches> branches_;
};

}  // namespace modelutils::jinja
