// Resolves names to variables. Jinja compiles a template to Python functions, and its rules for `set` in loops,
// conditions and macros follow from that. So we resolve names the same way: each body has its own symbols, found before
// any of it runs.
#pragma once

#include "template/syntax.h"
#include "template/value.h"

namespace modelutils::jinja {

/// Fills in the slots and frames of all nodes in `root.body`. Fails on what Jinja's compiler rejects: unknown filters
/// and tests outside conditions, and assignments to `loop` in a loop. Time: template size times nesting depth.
Outcome<void> resolve_names(FunctionBody& root, Heap& heap);

}  // namespace modelutils::jinja
