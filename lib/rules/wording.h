// Message texts that findings of several formats share.
#pragma once

#include <string>
#include <string_view>

#include "base/counted.h"
#include "base/error.h"
#include "model/catalog.h"

namespace modelutils {

/// Returns a text like "2 of 12 tensors are missing or cut off"; the finding's place names the first.
inline std::string cut_tensors_text(u64 cut, u64 all) {
  return std::to_string(cut) + " of " + counted(all, "tensor") + (cut == 1 ? " is" : " are") + " missing or cut off";
}

/// Returns Finding::file for a file of the catalog: its base name if there are several files, otherwise empty.
inline std::string file_of_set(const Catalog& catalog, std::size_t file) {
  return catalog.files.size() > 1 ? catalog.files[file].base_name : std::string();
}

/// Returns the finding for a file that could not be read completely while its data was checked.
inline Finding read_failure(const Catalog& catalog, std::size_t file, std::string where, const Error& error) {
  Finding finding = without_path(error, Scope::data, file_of_set(catalog, file));
  finding.where = std::move(where);
  return finding;
}

}  // namespace modelutils
