// Checks of a model beside its rules: --data finds NaN and Inf in every tensor, the file's name must match its format,
// and --together checks whether a set of GGUF files, or LoRA adapters and a base, fit each other.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/log.h"
#include "io/standard_output.h"
#include "model/adapter/pairs.h"
#include "model/catalog.h"
#include "model/format.h"
#include "model/model.h"
#include "rules/directory/value_checks.h"
#include "rules/gguf/together.h"

namespace modelutils {

// verify --data: finds NaN and Inf in every tensor of a catalog, in any format.

/// Reads every tensor whose type has a check (tensor/block_check.h), in block-aligned pieces that `threads` threads
/// claim one after another; memory stays at one piece per thread. Logs one finding per bad tensor: the first bad block
/// or element, its absolute offset, and the number of bad ones. `packed`: weights whose unpacked values may overflow;
/// this is reported for their scales and biases. In a big-endian file plain types are checked and block types are not.
/// `first`: other work that one of the threads does before it starts to read. Codes: "data-nan", "data-inf",
/// "data-overflow", "data-bool", "data-scale", "data-big-endian", "data-zeros" (a note), and those of reading if the
/// file fails meanwhile.
void check_data(const Catalog& catalog, std::span<const PackedWeight> packed, unsigned threads, FindingLog& log,
                Progress* progress = nullptr, const std::function<void()>& first = {});

// Checks that a model's file name matches its format. Internal.

/// Logs "verify-extension" if the path's extension does not match the format, because loaders and download tools choose
/// files by their extension.
void check_extension(const std::string& path, Format format, FindingLog& log);

// verify --together for all forms of models and adapters: a set of GGUF files (rules/gguf/together.h), and LoRA
// adapters with a base where at most one of the two is a GGUF.

class TogetherChecks {
 public:
  /// Opens the paths. The first model among them is the base. Errors: kind usage if there is no model or nothing else;
  /// those of opening and of to_gguf::read_base().
  static Result<TogetherChecks> open(const std::vector<std::string>& paths, OutsideLinks links);

  /// Logs mismatches between `model` and the base; logs nothing for the base itself. Codes: "gguf-together",
  /// "adapter-…".
  void check(const Model& model, FindingLog& log) const;

 private:
  void check_directory(const SafetensorsModel& model, FindingLog& log) const;
  void check_pairs(const gguf::SplitSet& set, FindingLog& log) const;
  void check_scaled_pair(const adapter::GgufPair& pair, FindingLog& log) const;

  std::optional<Together> files_;      // set for GGUF files
  std::optional<adapter::Base> base_;  // set if the adapter or the base is a directory
  std::string base_path_;
};

}  // namespace modelutils
