// Models named on the command line: ollama:NAME, lmstudio:…, hf:… and llama.cpp:… become paths, and Ollama's manifests
// the models that they name.
#pragma once

#include <optional>
#include <string>

#include "base/error.h"
#include "store/store_names.h"

namespace modelutils::cli {

/// Returns the path for an operand. A name that no store has is returned unchanged: opening it fails, and
/// explained_operand() then gives the reason, so that a tool with several operands goes on with the others.
std::string operand_path(const std::string& operand, Manifests manifests);

/// Returns a clearer error for `error`, which names an operand or a path below it: no store has the name, the folder
/// holds several models, or the operand lacks the prefix of its store. Returns nullopt if none of these applies.
std::optional<Error> explained_operand(const Error& error);

}  // namespace modelutils::cli
