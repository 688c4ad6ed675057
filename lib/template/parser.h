// Tokens → the statements of a template.
#pragma once

#include "template/expression_parser.h"

namespace modelutils::jinja {

/// Blocks nest at most so deeply: it is Python's own limit of indentation.
constexpr u32 max_block_depth = 100;

/// The body of a whole template. Nodes and failures lie on the heap of the stream.
Outcome<Body> parse_statements(TokenStream& tokens);

}  // namespace modelutils::jinja
