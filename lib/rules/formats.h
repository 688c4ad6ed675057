// The rules of every format, in one table (formats.cc); how a path is recognised: model/format.h.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "base/finding_log.h"
#include "model/model.h"
#include "model/tensor_catalog.h"
#include "rules/directory/packed_check.h"

namespace modelutils {

/// What the rules of one format say of one model.
struct CheckedModel {
  FindingLog findings;
  std::string format_text;  ///< for people: "GGUF v3", "MLX"
  Catalog catalog;          ///< tensors that can be read; --data, --hash and --check work on it. Empty if nothing can.
  std::vector<PackedWeight> packed = {};  ///< MLX: what --data needs to know of weights, scales and biases
};

/// The rules of one format. Whatever is wrong with an opened model is a finding, an Error only if nothing at all can be
/// said (the file vanished).
struct FormatRules {
  Format format;
  /// `threads`: that it may use, the calling one included.
  Result<CheckedModel> (*check)(const Model& model, unsigned threads);
  bool has_checksum = false;  ///< of its own, which `check` compares
  /// The catalog that `check` will give, for formats whose rules need not be done before data can be read; or nullptr.
  Catalog (*catalog)(const Model& model) = nullptr;
};

/// The row of a format.
const FormatRules& rules_of(Format format);

}  // namespace modelutils
