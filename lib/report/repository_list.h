// The files of a repository, as text and as JSON.
#pragma once

#include <string>

#include "model/repository.h"

namespace modelutils {

/// Lists GGUF models with their sizes, then the other files.
std::string repository_text(const Repository& repository);

/// Returns one object on one line (docs/json.md, "repository/1").
std::string repository_json(const Repository& repository);

}  // namespace modelutils
