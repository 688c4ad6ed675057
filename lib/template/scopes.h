// Which variable a name means. Jinja compiles a template to functions of Python, and its rules about `set` in loops, in
// conditions and in macros follow from that; so we resolve names in the same way: each body has symbols of its own,
// found before any of it runs.
#pragma once

#include "template/failure.h"
#include "template/syntax.h"

namespace modelutils::jinja {

/// Fills in the slots and frames of all nodes of `root.body`, and fails on what Jinja's compiler refuses: unknown
/// filters and tests outside conditions, and assignments to `loop` in a loop. Linear in the size of the template times
/// its depth.
Outcome<void> resolve_names(FunctionBody& root, Heap& heap);

}  // namespace modelutils::jinja
