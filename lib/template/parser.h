// Parses the statements of a template from tokens.
#pragma once

#include "template/expression_parser.h"

namespace modelutils::jinja {

/// Maximum nesting of blocks: Python's limit for indentation.
constexpr u32 max_block_depth = 100;

/// Parses a whole template. Nodes and failures are allocated on the stream's heap.
Outcome<Body> parse_statements(TokenStream& tokens);

}  // namespace modelutils::jinja
