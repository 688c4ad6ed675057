#include "store/folder_model.h"

#include <algorithm>

namespace modelutils {

FolderModel folder_model(const Listing& listing) {
  FolderModel model;
  model.architecture = listing.facts.architecture;
  model.parameters = listing.facts.parameters;
  if (!listing.facts.companion.empty()) model.type = listing.facts.companion.front();
  if (model.type.empty()) model.type = listing.facts.mix;
  const std::vector<TypeTotal>& types = listing.is_packed() ? listing.forms : listing.facts.types;
  if (!model.type.empty() || types.empty()) return model;
  const auto bytes_of = [](const TypeTotal& total) { return total.bytes.value_or(0); };
  model.type = std::ranges::max_element(types, {}, bytes_of)->name;
  return model;
}

}  // namespace modelutils
