// What is directly below a node of the syntax tree.
#pragma once

#include "template/syntax.h"

namespace modelutils::jinja {

/// Calls `visit` for every expression directly below one, those of its arguments too.
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
