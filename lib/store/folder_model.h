// One line about a model, for lists of models.
#pragma once

#include <optional>
#include <string>

#include "model/listing/listing.h"

namespace modelutils {

/// Texts are raw text of the files.
struct FolderModel {
  std::string path;
  std::string architecture;
  std::optional<u64> parameters;
  std::string type;  ///< the mix, otherwise the type or form with the most bytes; a companion's kind
  u64 bytes = 0;     ///< of all its files
};

/// Returns the model's line, without its path and size.
FolderModel folder_model(const Listing& listing);

}  // namespace modelutils
