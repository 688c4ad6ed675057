// Every node of a template, once and in the order of its text.
#pragma once

#include "template/syntax.h"

namespace modelutils::jinja {

/// Where a node is.
struct Surroundings {
  u32 loops = 0;                        ///< around it, within its function
  bool is_conditional = false;          ///< in a condition or a loop of its function
  const FunctionBody* macro = nullptr;  ///< whose body it is in
};

/// Override what is of interest. The depth of the calls is that of the template, which parse() bounds.
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
