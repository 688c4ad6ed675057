// The rules of every format, in one table (formats.cc). Recognising a path's format: model/format.h.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "base/finding_log.h"
#include "model/model.h"
#include "rules/directory/packed_check.h"

namespace modelutils {

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
