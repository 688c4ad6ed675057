// Visits the children of a syntax tree node.
#pragma once

#include "template/syntax.h"

namespace modelutils::jinja {

/// Calls visit(child) for each direct subexpression, including arguments.
template <typename Visit>
void each_child(const Expression& node, const Visit& visit) {
  for (Expression* child : node.operands) {
    if (child != nullptr) visit(*child);
  }
  for (Expression* child : node.arguments.positional) visit(*child);
  for (const auto& [name, child] : node.arguments.named) visit(*child);
  if (node.arguments.rest != nullptr) visit(*node.arguments.rest);
  if (node.arguments.rest_named != nullptr) visit(*node.arguments.rest_named);
}

}  // namespace modelutils::jinja
