// What the BUMPWGT3 file of a GGUF model holds: every entry with the recipe of its bytes, and what has no place in it.
// The converter streams by it, verify --against compares by it. Source: docs/formats/bump.md.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bump/layout.h"
#include "gguf/split_set.h"
#include "plan/bump_hyper.h"
#include "plan/refusals.h"

namespace modelutils {

/// A GGUF tensor where it stands.
struct LocatedTensor {
  std::string name;
  TensorType type = TensorType::F32;
  std::vector<u64> ne;   ///< without trailing ones
  std::size_t file = 0;  ///< index into the set's files
  u64 offset = 0;        ///< absolute in that file
  u64 bytes = 0;
};

/// A run of source bytes followed by zeros, repeated: whole matrices (once), packed heads (a run for each head), padded
/// columns (a run for each head of each row).
struct BumpPart {
  enum class Kind : u8 { zeros, copy, widen };
  Kind kind = Kind::zeros;
  TensorType type = TensorType::F32;  ///< of the source, for widen: F32, F16 or BF16
  std::size_t file = 0;
  u64 offset = 0;  ///< absolute offset of the first run; the runs stand one after another in the source
  u64 repeat = 1;
  u64 run = 0;    ///< source bytes of one run
  u64 zeros = 0;  ///< bytes behind each run
};

struct BumpEntry {
  bump::Entry entry;
  std::vector<BumpPart> parts;
  std::vector<std::string> sources;  ///< GGUF tensors it is made of; empty for zeros
};

/// Some tensor that BUMPWGT3 has no place for.
struct UnplacedTensor {
  LocatedTensor tensor;
  std::string reason;
  bool dropped = false;  ///< the user accepted the loss
};

struct BumpMapping {
  BumpHyperParameters hyper;       ///< dimensions complete
  std::vector<BumpEntry> entries;  ///< in payload order; empty if `refusals` is not
  u64 file_size = 0;
  std::vector<UnplacedTensor> unplaced;
  std::optional<LocatedTensor> token_embedding;
  /// output.weight of the type and shape of the embedding: no loss if its bytes are the same (see same_bytes()).
  std::optional<LocatedTensor> output;
  /// rope_freqs.weight: no loss if config.json can say it.
  std::optional<LocatedTensor> rope_freqs;
  bool has_qkv_bias = false;
  bool has_mlp_bias = false;
  bool has_experts = false;
  bool has_output = false;  ///< an output.weight of any form

  Refusals refusals;  ///< everything that the headers alone forbid; unplaced tensors that are not dropped included
};

/// Plans the file from the headers alone. The set must be complete and without errors (verify/gguf/rules.h tells), and
/// outlive what reads by the plan. Everything that cannot be carried is in `refusals`. Errors: reading.
Result<BumpMapping> map_gguf_to_bump(const gguf::SplitSet& set, const BumpRequest& request);

/// Are the bytes of two tensors equal? Reads both (io/same_bytes.h).
Result<bool> same_bytes(const gguf::SplitSet& set, const LocatedTensor& a, const LocatedTensor& b);

}  // namespace modelutils
