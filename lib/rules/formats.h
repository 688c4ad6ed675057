// The rules of every format, in one table (formats.cc), and the message texts that they share. Recognising a path's
// format: model/format.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "model/catalog.h"
#include "model/model.h"
#include "rules/directory/value_checks.h"

namespace modelutils {

// Message texts that findings of several formats share.

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

/// The result of checking one model.
struct CheckedModel {
  FindingLog findings;
  std::string format_text;                ///< for display: "GGUF v3", "MLX"
  Catalog catalog;                        ///< readable tensors, for --data, --hash and --check; may be empty
  std::vector<PackedWeight> packed = {};  ///< for --data: weights packed by MLX with their scales and biases
};

/// The rules of one format. Problems in an opened model are findings; an Error means that nothing could be checked (the
/// file vanished).
struct FormatRules {
  Format format;
  /// Checks a model on at most `threads` threads, including the calling one.
  Result<CheckedModel> (*check)(const Model& model, unsigned threads);
  bool has_checksum = false;        ///< the format has a checksum, which `check` compares
  bool may_read_meanwhile = false;  ///< the model's catalog is complete, so that data can be read while `check` runs
};

/// Returns the rules of a format.
const FormatRules& rules_of(Format format);

}  // namespace modelutils
