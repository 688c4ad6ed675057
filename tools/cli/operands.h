// Models named on the command line: ollama:NAME, lmstudio:…, hf:… and llama.cpp:… become paths, and Ollama's manifests
// the models that they name.
#pragma once

#include <optional>
#include <string>

#include "base/error.h"

namespace modelutils::cli {

/// What a tool does with the operand of a manifest.
enum class Manifests : u8 {
  read,     ///< the tool reads manifests itself
  to_model  ///< it gets the model that the manifest names
};

/// Returns the path for an operand. A name that no store has is returned unchanged: opening it fails, and
/// explained_operand() then gives the reason, so that a tool with several operands goes on with the others.
std::string operand_path(const std::string& operand, Manifests manifests);

/// Returns the error that explains why `error`, about a path as the user gave it or below it, came about: the name is
/// in no store; the path is a folder of several models; a text that is no file is the name of a model in a store.
/// Returns nullopt if there is nothing to explain.
std::optional<Error> explained_operand(const Error& error);

}  // namespace modelutils::cli
