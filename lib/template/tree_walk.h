// Visits every node of a template once, in source order.
#pragma once

#include "template/syntax.h"

namespace modelutils::jinja {

/// The context of a node.
struct Surroundings {
  u32 loops = 0;                        ///< number of enclosing loops in its function
  bool is_conditional = false;          ///< inside a condition or loop of its function
  const FunctionBody* macro = nullptr;  ///< the macro whose body contains it
};

/// Override the callbacks of interest. Recursion depth equals the template's nesting, which parse() bounds.
class TreeWalk {
 public:
  virtual ~TreeWalk() = default;
  void walk(const Body& body);

 protected:
  virtual void enter(const Statement&) {}
  virtual void leave(const Statement&) {}
  virtual void visit(const Expression&) {}

  const Surroundings& around() const { return around_; }
  void walk(const Expression* expression);

 private:
  void walk(const Statement& statement);
  void walk(const FunctionBody& function, bool is_macro);
  void walk(const ArgumentList& arguments);

  Surroundings around_;
};

}  // namespace modelutils::jinja
