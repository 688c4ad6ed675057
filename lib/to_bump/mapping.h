// The plan of a BUMPWGT3 file from a GGUF model: every entry with the recipe for its bytes, and the tensors that do not
// fit in. Used for conversion and for verify --against. Source: docs/formats/bump.md.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bump/layout.h"
#include "gguf/split_set.h"
#include "to_bump/source.h"

namespace modelutils {

struct BumpEntry {
  bump::Entry entry;
  std::vector<BumpPart> parts;
  std::vector<std::string> sources;  ///< GGUF tensors used; empty for zeros
};

struct BumpMapping : BumpPlan {
  std::vector<BumpEntry> entries;  ///< in payload order; empty if there are refusals
  std::optional<LocatedTensor> token_embedding;
  /// output.weight, if it has the type and shape of the embedding. Nothing is lost if its bytes are equal too (see
  /// same_bytes()).
  std::optional<LocatedTensor> output;
  /// rope_freqs.weight. Nothing is lost if config.json can express it.
  std::optional<LocatedTensor> rope_freqs;
  bool has_qkv_bias = false;
  bool has_mlp_bias = false;
  bool has_experts = false;
  bool has_output = false;  ///< there is an output.weight of any type and shape
};

/// Plans the file from the headers alone. The set must be complete and without errors (rules/gguf/rules.h checks this),
/// and must outlive the plan's users. Everything that cannot be converted is in `refusals`. Errors: read errors.
Result<BumpMapping> map_gguf_to_bump(const gguf::SplitSet& set, const BumpRequest& request);

/// True if two tensors have equal bytes. Reads both (io/same_bytes.h).
Result<bool> same_bytes(const gguf::SplitSet& set, const LocatedTensor& a, const LocatedTensor& b);

}  // namespace modelutils
