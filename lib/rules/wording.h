// Small texts that findings of all formats share.
#pragma once

#include <string>
#include <string_view>

#include "base/counted.h"
#include "base/error.h"
#include "model/tensor_catalog.h"

namespace modelutils {

/// "2 of 12 tensors are missing or cut off, the first of them", which the finding's place then names.
inline std::string cut_tensors_text(u64 cut, u64 all) {
  return std::to_string(cut) + " of " + counted(all, "tensor") + (cut == 1 ? " is" : " are") + " missing or cut off";
}

/// Finding::file for a file of the catalog: its base name if there are several, else empty.
inline std::string file_of_set(const Catalog& catalog, std::size_t file) {
  return catalog.files.size() > 1 ? catalog.files[file].base_name : std::string();
}

/// The finding for a file that could not be read to the end while its data was looked at.
inline Finding read_failure(const Catalog& catalog, std::size_t file, std::string where, const Error& error) {
  Finding finding = without_path(error, Scope::data, file_of_set(catalog, file));
  finding.where = std::move(where);
  return finding;
}

}  // namespace modelutils
