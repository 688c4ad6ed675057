// What the BUMPWGT3 file of a GGUF model holds: every entry with the recipe of its bytes, and what has no place in it.
// The converter streams by it, verify --against compares by it. Source: docs/formats/bump.md.
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
  std::vector<std::string> sources;  ///< GGUF tensors it is made of; empty for zeros
};

struct BumpMapping : BumpPlan {
  std::vector<BumpEntry> entries;  ///< in payload order; empty if `refusals` is not
  std::optional<LocatedTensor> token_embedding;
  /// output.weight of the type and shape of the embedding: no loss if its bytes are the same (see same_bytes()).
  std::optional<LocatedTensor> output;
  /// rope_freqs.weight: no loss if config.json can say it.
  std::optional<LocatedTensor> rope_freqs;
  bool has_qkv_bias = false;
  bool has_mlp_bias = false;
  bool has_experts = false;
  bool has_output = false;  ///< an output.weight of any form
};

/// Plans the file from the headers alone. The set must be complete and without errors (rules/gguf/rules.h tells), and
/// outlive what reads by the plan. Everything that cannot be carried is in `refusals`. Errors: reading.
Result<BumpMapping> map_gguf_to_bump(const gguf::SplitSet& set, const BumpRequest& request);

/// Are the bytes of two tensors equal? Reads both (io/same_bytes.h).
Result<bool> same_bytes(const gguf::SplitSet& set, const LocatedTensor& a, const LocatedTensor& b);

}  // namespace modelutils
