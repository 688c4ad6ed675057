// The files of a repository, for people and programs.
#pragma once

#include <string>

#include "model/repository.h"

namespace modelutils {

/// GGUF models with their sizes, then the other files.
std::string repository_text(const Repository& repository);

/// One object on one line (docs/json.md, "repository/1").
std::string repository_json(const Repository& repository);

}  // namespace modelutils
